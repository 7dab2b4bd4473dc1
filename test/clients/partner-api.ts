export interface paths {
    "/partners/v1/provider-regions/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a country's regions
         * @description Lists the active regions of a country. A country with one entry has one country-wide region; a country without any gives an empty page.
         */
        get: operations["listProviderRegions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/partners/v1/providers/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search providers and their free slots
         * @description Finds the providers with an active license in a region, with their free slots of the next 30 days. country_code alone is enough for a country with one country-wide region, but not for in-person.
         */
        get: operations["searchProviders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/partners/v1/booking-request/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a booking request or an intake
         * @description Finds or creates the member by user.external_user_id, updates it with memberData and submits a request for a slot, or an intake where bookingData is left out. A refused call changes nothing.
         *
         *     Retries (an addition to the contract): the 201 to a call with an `Idempotency-Key` is kept for 24 hours. The same key with the same body, byte for byte, is answered with it again, with `Idempotency-Replayed: true`, whatever has become of the request since; with another body it is 422. A refusal is not kept: the next call with its key is judged anew. So a call that got no answer can be sent again until it gets one.
         */
        post: operations["submitBookingRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/partners/v1/user/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look a member up
         * @description Finds a member, created by a booking request or an intake, by the partner's own id.
         */
        get: operations["lookUpMember"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description What is wrong, in every error but a 401 */
        ApiError: {
            /** @description For people; it names the field where there is one */
            message: string;
            /** @description The HTTP status */
            status: number;
        };
        /** @description Why the caller could not be authenticated */
        AuthenticationError: {
            code: components["schemas"]["AuthenticationErrorCode"];
            /** @description For people; it may change */
            message: string;
        };
        /**
         * @description Why the caller could not be authenticated, for programs to act on
         * @enum {string}
         */
        AuthenticationErrorCode: "token_invalid" | "missing_claim" | "partner_not_found" | "partner_inactive";
        /** @description The slot to book; a request without it is an intake */
        BookingData: {
            /**
             * Format: int64
             * @description A providerId of the search
             */
            selfSchedulingProviderId: number;
            /**
             * @description Exactly as received from the search: UTC, with a trailing Z
             * @example 2026-12-01T14:00:00Z
             */
            utcStartTime: string;
            /**
             * @description Exactly as received from the search: 45 minutes after utcStartTime
             * @example 2026-12-01T14:45:00Z
             */
            utcEndTime: string;
        };
        /** @description A booking request, or an intake without bookingData */
        BookingRequest: {
            user: components["schemas"]["UserReference"];
            bookingData?: components["schemas"]["BookingData"];
            memberData: components["schemas"]["MemberData"];
            /** @description May be empty */
            phq9Data: components["schemas"]["ScreeningAnswer"][];
        };
        /** @description A booking request or an intake as it was stored */
        BookingResponse: {
            /**
             * Format: int64
             * @description Identifies the booking request
             */
            id: number;
            /**
             * Format: int64
             * @description Null for an intake until a provider is assigned
             */
            providerId: number | null;
            /** @description Null for an intake until a provider is assigned */
            authorizationNumber: string | null;
            /** @description The member's; empty where there is none */
            phoneNumber: string;
            /** @description The member's; empty where there is none */
            preferredModality: string;
            /**
             * Format: date-time
             * @description Null until the request is accepted
             */
            acceptedAt: string | null;
            /**
             * Format: date-time
             * @description Null unless the request is declined or the intake is closed
             */
            declinedAt: string | null;
            member: components["schemas"]["MemberReference"];
            /**
             * @description Null for an intake without a slot
             * @example 2026-12-01T14:00:00Z
             */
            utcStartTime: string | null;
        };
        /**
         * @description What went wrong, for programs to act on
         * @enum {string}
         */
        ErrorCode: "https_required" | "path_unknown" | "authentication_limited" | "token_invalid" | "missing_claim" | "partner_not_found" | "partner_inactive" | "method_not_allowed" | "rate_limited" | "overloaded" | "organization_not_configured" | "organization_deactivated" | "media_type_unsupported" | "body_too_large" | "body_malformed" | "field_invalid" | "region_unknown" | "region_outside_country" | "region_required" | "page_out_of_range" | "member_not_found" | "idempotency_key_reused" | "member_deactivated" | "provider_unknown" | "slot_unavailable" | "slot_already_yours" | "slot_conflicts_with_yours" | "too_many_open_requests" | "email_conflicts_limited" | "email_taken" | "storage_busy" | "storage_failed" | "internal_error";
        /**
         * @description Whether a message may be left
         * @enum {string}
         */
        LeaveVoicemail: "Yes" | "No";
        /** @description A member whom the partner created */
        Member: {
            /**
             * Format: int64
             * @description The service's id of the member
             */
            id: number;
            firstName: string;
            lastName: string;
            email: string;
            /** @description Always member */
            userType: string;
            /** @description ISO 3166-1 alpha-2 */
            country: string;
            /** @description The language's English name */
            preferredSpokenLanguage: string;
            /** @description BCP 47 language tag */
            preferredSpokenLanguageCode: string;
            /** @description The partner's own id of the member */
            externalUserId: string;
        };
        /** @description What is known of the member; what a later call leaves out stays as it is */
        MemberData: {
            /** @description At most 64 characters before the @; unique among all members of the service, whatever its case */
            email: string;
            firstName: string;
            lastName: string;
            /**
             * @description ISO 3166-1 alpha-2, in any case
             * @example CA
             */
            country: string;
            preferredName?: string;
            preferredPronouns?: string;
            /** @description Date of birth, not in the future */
            dob?: string;
            gender?: string;
            maritalStatus?: string;
            clientType?: string;
            leaveVoicemail?: components["schemas"]["LeaveVoicemail"];
            /** @description A leading + and 7 to 15 digits; spaces, dots, hyphens and parentheses between them */
            phoneNumber?: string;
            streetAddress?: string;
            /** @description May be empty */
            suite?: string;
            city?: string;
            state?: string;
            zipCode?: string;
            reasonForSeekingSupport?: string;
            /** @description Free text */
            preferredModality?: string;
            /**
             * @description BCP 47 language tag; en for a new member where none is sent
             * @example fr-CA
             */
            preferredSpokenLanguage?: string;
        };
        /** @description Whom the request is for */
        MemberReference: {
            /**
             * Format: int64
             * @description The service's id of the member
             */
            id: number;
            firstName: string;
            email: string;
        };
        /**
         * @description How a session is held
         * @enum {string}
         */
        Modality: "in-person" | "telephonic" | "in-video";
        /** @description A provider with an active license in the region */
        Provider: {
            /**
             * Format: int64
             * @description The selfSchedulingProviderId of a booking
             */
            providerId: number;
            details: components["schemas"]["ProviderDetails"];
            /** @description The free slots that start in the next 30 days, soonest first */
            availability: components["schemas"]["Slot"][];
        };
        /** @description Who the provider is */
        ProviderDetails: {
            firstName: string;
            lastName: string;
            credentials: string | null;
            pronouns: string | null;
            gender: string | null;
            bio: string | null;
            /** @description IANA name of the zone that the provider works in */
            timeZone: string;
            /** @description BCP 47 language tags */
            languagesSpoken: string[];
            /** @description How sessions can be held */
            modalities: components["schemas"]["Modality"][];
        };
        /** @description A page of providers */
        ProviderPage: {
            /** @description Providers on all pages */
            count: number;
            /** @description Full URL of the next page */
            next: string | null;
            /** @description Full URL of the previous page */
            previous: string | null;
            /** @description The providers of the page, by providerId */
            results: components["schemas"]["Provider"][];
        };
        /** @description A state or province, or a country as a whole */
        Region: {
            /**
             * Format: int64
             * @description The region_id of the provider search
             */
            id: number;
            /** @description ISO 3166-1 alpha-2 */
            countryCode: string;
            /** @description The subdivision's part of its ISO 3166-2 code; the country's code for a whole country */
            stateProvinceCode: string;
            /** @description The name in the language of the place */
            stateProvinceNameLocal: string;
            /** @description What kind of subdivision it is */
            stateProvinceLabel: string;
        };
        /** @description A question of the PHQ-9 and what the member answered */
        ScreeningAnswer: {
            question: string;
            answer: string;
        };
        /** @description 45 minutes that can be booked */
        Slot: {
            /**
             * @description UTC, with a trailing Z; to be sent back exactly as received
             * @example 2026-12-01T14:00:00Z
             */
            utcStartTime: string;
            /**
             * @description UTC, with a trailing Z; to be sent back exactly as received
             * @example 2026-12-01T14:45:00Z
             */
            utcEndTime: string;
        };
        /** @description Whom the request is for */
        UserReference: {
            /**
             * @description The partner's own stable id of the member
             * @example member-1001
             */
            external_user_id: string;
        };
    };
    responses: {
        /**
         * @description - `token_invalid`: The token is missing, malformed, forged or not in force
         *     - `missing_claim`: The token lacks its kid header
         *     - `partner_not_found`: The token belongs to another environment
         *     - `partner_inactive`: The partner is deactivated
         */
        Unauthenticated: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /** @description The scheme to authenticate with (RFC 6750) */
                "WWW-Authenticate"?: string;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["AuthenticationError"];
            };
        };
        /**
         * @description - `https_required`: The request did not come by HTTPS; nothing of it was looked at
         *     - `organization_deactivated`: The partner's organization is deactivated
         */
        HttpsRequiredOrOrganizationDeactivated: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /**
                 * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                 * @example "reads";q=30000;w=60
                 */
                "RateLimit-Policy"?: string;
                /**
                 * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                 * @example "reads";r=29979;t=1
                 */
                RateLimit?: string;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiError"];
            };
        };
        /** @description The path does not take this method. */
        MethodNotAllowed: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /** @description The methods that the path takes */
                Allow?: string;
                /**
                 * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                 * @example "reads";q=30000;w=60
                 */
                "RateLimit-Policy"?: string;
                /**
                 * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                 * @example "reads";r=29979;t=1
                 */
                RateLimit?: string;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiError"];
            };
        };
        /** @description The partner has no organization configured. */
        OrganizationNotConfigured: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /**
                 * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                 * @example "reads";q=30000;w=60
                 */
                "RateLimit-Policy"?: string;
                /**
                 * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                 * @example "reads";r=29979;t=1
                 */
                RateLimit?: string;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiError"];
            };
        };
        /**
         * @description - `authentication_limited`: Too many tokens from this address were refused
         *     - `rate_limited`: The partner's rate is used up; nothing was changed
         */
        AuthenticationLimitedOrRateLimited: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /**
                 * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                 * @example "reads";q=30000;w=60
                 */
                "RateLimit-Policy"?: string;
                /**
                 * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                 * @example "reads";r=29979;t=1
                 */
                RateLimit?: string;
                /** @description Seconds to wait before the request is sent again */
                "Retry-After"?: number;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiError"];
            };
        };
        /** @description The service failed. */
        InternalError: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /**
                 * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                 * @example "reads";q=30000;w=60
                 */
                "RateLimit-Policy"?: string;
                /**
                 * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                 * @example "reads";r=29979;t=1
                 */
                RateLimit?: string;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiError"];
            };
        };
        /**
         * @description - `overloaded`: The service has more to do than it can; nothing was changed
         *     - `storage_busy`: The service is busy; nothing was changed
         *     - `storage_failed`: The service cannot store anything; nothing was changed
         */
        OverloadedOrStorageBusyOrStorageFailed: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /**
                 * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                 * @example "reads";q=30000;w=60
                 */
                "RateLimit-Policy"?: string;
                /**
                 * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                 * @example "reads";r=29979;t=1
                 */
                RateLimit?: string;
                /** @description Seconds to wait before the request is sent again */
                "Retry-After"?: number;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiError"];
            };
        };
        /**
         * @description - `https_required`: The request did not come by HTTPS; nothing of it was looked at
         *     - `organization_deactivated`: The partner's organization is deactivated
         *     - `member_deactivated`: The member is deactivated
         */
        HttpsRequiredOrOrganizationDeactivatedOrMemberDeactivated: {
            headers: {
                /** @description What went wrong, for programs to act on */
                "X-Error-Code"?: components["schemas"]["ErrorCode"];
                /**
                 * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                 * @example "reads";q=30000;w=60
                 */
                "RateLimit-Policy"?: string;
                /**
                 * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                 * @example "reads";r=29979;t=1
                 */
                RateLimit?: string;
                /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                "X-Request-Id"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ApiError"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listProviderRegions: {
        parameters: {
            query: {
                /**
                 * @description ISO 3166-1 alpha-2, in any case
                 * @example CA
                 */
                country_code: string;
                /** @description Counted from 1 */
                page?: number;
                /** @description Entries on a page */
                page_size?: number;
            };
            header?: {
                /** @description The ETag of an earlier answer to the same request, or several of them */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the country's active regions */
            200: {
                headers: {
                    /** @description Full URLs of the first, prev, next and last page (RFC 8288) */
                    Link?: string;
                    /** @description Regions on all pages */
                    "X-Total-Count"?: number;
                    /** @description What tells this answer from others to the same request; weak */
                    ETag?: string;
                    /**
                     * @description It may be kept, but not used unless it was asked for again with If-None-Match
                     * @example private, no-cache
                     */
                    "Cache-Control"?: string;
                    /**
                     * @description It is compressed as Accept-Encoding asks for
                     * @example Accept-Encoding
                     */
                    Vary?: string;
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Region"][];
                };
            };
            /** @description What If-None-Match names is still right */
            304: {
                headers: {
                    /** @description Full URLs of the first, prev, next and last page (RFC 8288) */
                    Link?: string;
                    /** @description Regions on all pages */
                    "X-Total-Count"?: number;
                    /** @description What tells this answer from others to the same request; weak */
                    ETag?: string;
                    /**
                     * @description It may be kept, but not used unless it was asked for again with If-None-Match
                     * @example private, no-cache
                     */
                    "Cache-Control"?: string;
                    /**
                     * @description It is compressed as Accept-Encoding asks for
                     * @example Accept-Encoding
                     */
                    Vary?: string;
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description - `field_invalid`: A field is missing or not of its form
             *     - `page_out_of_range`: The page lies past the last one
             */
            400: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["HttpsRequiredOrOrganizationDeactivated"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["OrganizationNotConfigured"];
            429: components["responses"]["AuthenticationLimitedOrRateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["OverloadedOrStorageBusyOrStorageFailed"];
        };
    };
    searchProviders: {
        parameters: {
            query?: {
                /**
                 * @description The id of a region; required for countries with several regions and for in-person
                 * @example 9
                 */
                region_id?: number;
                /** @description ISO 3166-1 alpha-2, in any case */
                country_code?: string;
                /** @description How sessions are held; in-person finds who sees people in person in the region */
                modality?: components["schemas"]["Modality"];
                /** @description BCP 47 language tag */
                language?: string;
                /** @description Counted from 1 */
                page?: number;
                /** @description Entries on a page */
                page_size?: number;
            };
            header?: {
                /** @description The ETag of an earlier answer to the same request, or several of them */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the providers found */
            200: {
                headers: {
                    /** @description What tells this answer from others to the same request; weak */
                    ETag?: string;
                    /**
                     * @description It may be kept, but not used unless it was asked for again with If-None-Match
                     * @example private, no-cache
                     */
                    "Cache-Control"?: string;
                    /**
                     * @description It is compressed as Accept-Encoding asks for
                     * @example Accept-Encoding
                     */
                    Vary?: string;
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderPage"];
                };
            };
            /** @description What If-None-Match names is still right */
            304: {
                headers: {
                    /** @description What tells this answer from others to the same request; weak */
                    ETag?: string;
                    /**
                     * @description It may be kept, but not used unless it was asked for again with If-None-Match
                     * @example private, no-cache
                     */
                    "Cache-Control"?: string;
                    /**
                     * @description It is compressed as Accept-Encoding asks for
                     * @example Accept-Encoding
                     */
                    Vary?: string;
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description - `field_invalid`: A field is missing or not of its form
             *     - `region_unknown`: No active region has this id
             *     - `region_outside_country`: The region lies in another country
             *     - `region_required`: country_code alone is not enough here
             *     - `page_out_of_range`: The page lies past the last one
             */
            400: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["HttpsRequiredOrOrganizationDeactivated"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["OrganizationNotConfigured"];
            429: components["responses"]["AuthenticationLimitedOrRateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["OverloadedOrStorageBusyOrStorageFailed"];
        };
    };
    submitBookingRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description Addition to the contract. One for a request and all its retries, as a UUID: whoever got no answer sends the same request with the same key again, and nothing is stored twice. Kept for 24 hours */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BookingRequest"];
            };
        };
        responses: {
            /** @description The booking request, or the intake, that was stored */
            201: {
                headers: {
                    /** @description Addition to the contract. `true` where this is the answer to an earlier call with the same Idempotency-Key; left out otherwise */
                    "Idempotency-Replayed"?: "true";
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BookingResponse"];
                };
            };
            /**
             * @description - `body_malformed`: The body is not whole, not JSON or nested too deeply
             *     - `field_invalid`: A field is missing or not of its form
             *     - `provider_unknown`: No provider who can be booked has this id
             *     - `slot_unavailable`: The slot is not, or no longer, available
             *     - `slot_already_yours`: The member already holds this slot
             *     - `slot_conflicts_with_yours`: The member holds a slot that overlaps with this one
             *     - `too_many_open_requests`: The member has as many open requests as they may have
             */
            400: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["HttpsRequiredOrOrganizationDeactivatedOrMemberDeactivated"];
            405: components["responses"]["MethodNotAllowed"];
            /**
             * @description - `organization_not_configured`: The partner has no organization configured
             *     - `email_taken`: The address belongs to a different member
             */
            409: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            /** @description The body is larger than 256 KiB. */
            413: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            /** @description The body is not announced as plain JSON. */
            415: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            /** @description The key was sent before with another body; nothing was changed. */
            422: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            /**
             * @description - `authentication_limited`: Too many tokens from this address were refused
             *     - `rate_limited`: The partner's rate is used up; nothing was changed
             *     - `email_conflicts_limited`: Too many addresses of different members were sent
             */
            429: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Seconds to wait before the request is sent again */
                    "Retry-After"?: number;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            500: components["responses"]["InternalError"];
            503: components["responses"]["OverloadedOrStorageBusyOrStorageFailed"];
        };
    };
    lookUpMember: {
        parameters: {
            query: {
                /**
                 * @description The partner's own stable id of the member
                 * @example member-1001
                 */
                external_user_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member */
            200: {
                headers: {
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            /** @description A field is missing or not of its form. */
            400: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["HttpsRequiredOrOrganizationDeactivatedOrMemberDeactivated"];
            /** @description No member has this id. */
            404: {
                headers: {
                    /** @description What went wrong, for programs to act on */
                    "X-Error-Code"?: components["schemas"]["ErrorCode"];
                    /**
                     * @description The name of the budget that the call is taken from, q: what it holds, w: the seconds in which what was spent comes back, evenly. Left out where there is no limit
                     * @example "reads";q=30000;w=60
                     */
                    "RateLimit-Policy"?: string;
                    /**
                     * @description The name of the budget, r: what is left of it, t: seconds until all of it is there again. Left out where there is no limit
                     * @example "reads";r=29979;t=1
                     */
                    RateLimit?: string;
                    /** @description Names the request in the service's log: tell it to the operator where something went wrong */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiError"];
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["OrganizationNotConfigured"];
            429: components["responses"]["AuthenticationLimitedOrRateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["OverloadedOrStorageBusyOrStorageFailed"];
        };
    };
}
