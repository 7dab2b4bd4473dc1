// A partner in Go: books, reads back, reschedules, cancels and lists changes, with the client generated from /openapi.json.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"example.com/partner/api"
)

func main() {
	authorize := api.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("ANTEROOM_TOKEN"))
		return nil
	})
	client := must(api.NewClientWithResponses(os.Getenv("ANTEROOM_BASE_URL"), authorize))
	background := context.Background()

	regions := must(client.ListProviderRegionsWithResponse(background, &api.ListProviderRegionsParams{CountryCode: "CA"}))
	search := &api.SearchProvidersParams{RegionId: &(*regions.JSON200)[0].Id}
	provider := must(client.SearchProvidersWithResponse(background, search)).JSON200.Results[0]
	slot := func(index int) api.BookingData {
		free := provider.Availability[index]
		return api.BookingData{
			SelfSchedulingProviderId: provider.ProviderId,
			UtcStartTime:             free.UtcStartTime,
			UtcEndTime:               free.UtcEndTime,
		}
	}

	first := slot(0)
	booked := must(client.SubmitBookingRequestWithResponse(background, nil, api.BookingRequest{
		User:        api.UserReference{ExternalUserId: "go-booking"},
		BookingData: &first,
		MemberData:  api.MemberData{Email: "go@example.com", FirstName: "Robin", LastName: "Sample", Country: "CA"},
		Phq9Data:    []api.ScreeningAnswer{},
	})).JSON201
	id := booked.Id

	read := must(client.ReadBookingRequestWithResponse(background, id))
	check(read.JSON200.State == api.CurrentRequestStatePending && read.JSON200.CancelledAt == nil, read.Body)
	check(*read.JSON200.UtcStartTime == first.UtcStartTime && read.JSON200.Member == booked.Member, read.Body)

	etag := read.HTTPResponse.Header.Get("ETag")
	unchanged := &api.RescheduleBookingRequestParams{IfMatch: &etag}
	moved := must(client.RescheduleBookingRequestWithResponse(background, id, unchanged, slot(1)))
	check(*moved.JSON200.UtcStartTime == slot(1).UtcStartTime, moved.Body)
	check(*moved.JSON200.AuthorizationNumber == *booked.AuthorizationNumber, moved.Body)

	changed := must(client.CancelBookingRequestWithResponse(background, id, &api.CancelBookingRequestParams{IfMatch: &etag}))
	check(changed.StatusCode() == 412 && changed.JSON412.Status == 412, changed.Body)
	cancelled := must(client.CancelBookingRequestWithResponse(background, id, nil))
	check(cancelled.JSON200.State == api.CurrentRequestStateCancelled && cancelled.JSON200.CancelledAt != nil, cancelled.Body)

	changes := must(client.ListBookingRequestChangesWithResponse(background, nil))
	last := changes.JSON200.Results[len(changes.JSON200.Results)-1]
	check(last.Id == id && last.State == api.RequestChangeStateCancelled, changes.Body)

	unknown := must(client.ReadBookingRequestWithResponse(background, 999_999))
	check(unknown.JSON404 != nil && unknown.HTTPResponse.Header.Get("X-Error-Code") == "request_not_found", unknown.Body)
	fmt.Println("The Go client made all calls.")
}

func must[Result any](result Result, err error) Result {
	if err != nil {
		log.Fatal(err)
	}
	return result
}

func check(ok bool, body []byte) {
	if !ok {
		log.Panicf("not as expected: %s", body)
	}
}
