"""A partner in Python: all calls and their errors, with the client generated from /openapi.json."""

import os
from http import HTTPStatus
from uuid import uuid4

from partner_api import AuthenticatedClient
from partner_api.api.bookings import (
    cancel_booking_request,
    list_booking_request_changes,
    read_booking_request,
    reschedule_booking_request,
    submit_booking_request,
)
from partner_api.api.directory import list_provider_regions, search_providers
from partner_api.api.members import look_up_member
from partner_api.models import (
    ApiError,
    AuthenticationError,
    AuthenticationErrorCode,
    BookingData,
    BookingRequest,
    BookingResponse,
    CurrentRequest,
    CurrentRequestState,
    LeaveVoicemail,
    Member,
    MemberData,
    Modality,
    ProviderPage,
    RequestChangePage,
    RequestChangeState,
    ScreeningAnswer,
    UserReference,
)
from partner_api.types import UNSET, Unset

base_url = os.environ["ANTEROOM_URL"]
client = AuthenticatedClient(base_url=base_url, token=os.environ["ANTEROOM_TOKEN"])


def submission(member: str, booking_data: BookingData | Unset = UNSET) -> BookingRequest:
    """Returns a booking of the slot, or an intake without one."""
    return BookingRequest(
        user=UserReference(external_user_id=member),
        booking_data=booking_data,
        member_data=MemberData(
            email=f"{member}@example.com",
            first_name="Robin",
            last_name="Sample",
            country="CA",
            leave_voicemail=LeaveVoicemail.NO,
            preferred_spoken_language="fr-CA",
        ),
        phq_9_data=[
            ScreeningAnswer(
                question="Little interest or pleasure in doing things?",
                answer="Several days",
            )
        ],
    )


regions = list_provider_regions.sync(client=client, country_code="CA")
assert isinstance(regions, list) and len(regions) == 13
ontario = next(region for region in regions if region.state_province_code == "ON")

found = search_providers.sync(client=client, region_id=ontario.id, modality=Modality.IN_VIDEO, language="en")
assert isinstance(found, ProviderPage) and found.previous is None
provider = found.results[0]
slot = provider.availability[0]
booking_data = BookingData(
    self_scheduling_provider_id=provider.provider_id,
    utc_start_time=slot.utc_start_time,
    utc_end_time=slot.utc_end_time,
)

key = str(uuid4())
booked = submit_booking_request.sync_detailed(
    client=client, body=submission("python-booking", booking_data), idempotency_key=key
)
assert booked.status_code == HTTPStatus.CREATED and isinstance(booked.parsed, BookingResponse)
assert booked.parsed.provider_id == provider.provider_id
assert booked.parsed.utc_start_time == slot.utc_start_time
assert booked.parsed.authorization_number is not None
assert booked.parsed.accepted_at is None and booked.parsed.declined_at is None

again = submit_booking_request.sync_detailed(
    client=client, body=submission("python-booking", booking_data), idempotency_key=key
)
assert again.headers["Idempotency-Replayed"] == "true" and again.parsed == booked.parsed

intake = submit_booking_request.sync(client=client, body=submission("python-intake"))
assert isinstance(intake, BookingResponse)
assert intake.provider_id is None and intake.authorization_number is None
assert intake.utc_start_time is None

member = look_up_member.sync(client=client, external_user_id="python-booking")
assert isinstance(member, Member) and member.id == booked.parsed.member.id
assert member.preferred_spoken_language == "French (Canada)"

forged = look_up_member.sync(
    client=AuthenticatedClient(base_url=base_url, token="forged"),
    external_user_id="python-booking",
)
assert isinstance(forged, AuthenticationError)
assert forged.code == AuthenticationErrorCode.TOKEN_INVALID

nobody = look_up_member.sync(client=client, external_user_id="python-nobody")
assert isinstance(nobody, ApiError) and nobody.status == HTTPStatus.NOT_FOUND

late = submit_booking_request.sync_detailed(client=client, body=submission("python-late", booking_data))
assert isinstance(late.parsed, ApiError) and late.parsed.status == HTTPStatus.BAD_REQUEST
assert late.headers["X-Error-Code"] == "slot_unavailable"

read = read_booking_request.sync_detailed(booked.parsed.id, client=client)
assert isinstance(read.parsed, CurrentRequest) and read.parsed.state == CurrentRequestState.PENDING
assert read.parsed.member == booked.parsed.member and read.parsed.cancelled_at is None

later = provider.availability[1]
move_to = BookingData(
    self_scheduling_provider_id=provider.provider_id,
    utc_start_time=later.utc_start_time,
    utc_end_time=later.utc_end_time,
)
etag = read.headers["ETag"]
moved = reschedule_booking_request.sync(booked.parsed.id, client=client, body=move_to, if_match=etag)
assert isinstance(moved, CurrentRequest) and moved.utc_start_time == later.utc_start_time

changed = cancel_booking_request.sync_detailed(booked.parsed.id, client=client, if_match=etag)
assert changed.status_code == HTTPStatus.PRECONDITION_FAILED and isinstance(changed.parsed, ApiError)
assert changed.headers["X-Error-Code"] == "request_changed"

cancelled = cancel_booking_request.sync(booked.parsed.id, client=client)
assert isinstance(cancelled, CurrentRequest) and cancelled.state == CurrentRequestState.CANCELLED

changes = list_booking_request_changes.sync(client=client)
assert isinstance(changes, RequestChangePage) and changes.results[-1].id == booked.parsed.id
assert changes.results[-1].state == RequestChangeState.CANCELLED

theirs = submission("python-theirs")
theirs.member_data.email = "python-booking@example.com"
taken = submit_booking_request.sync(client=client, body=theirs)
assert isinstance(taken, ApiError) and taken.status == HTTPStatus.CONFLICT

no_organization = AuthenticatedClient(
    base_url=base_url, token=os.environ["ANTEROOM_TOKEN_WITHOUT_ORGANIZATION"]
)
refused = list_provider_regions.sync(client=no_organization, country_code="CA")
assert isinstance(refused, ApiError) and refused.status == HTTPStatus.CONFLICT

print("The Python client made all calls.")
