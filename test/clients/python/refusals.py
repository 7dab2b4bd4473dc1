"""A request that fits the schema is refused only for reasons that a schema cannot express.

This replaces positive_data_acceptance of schemathesis, which reports every 400 and 422 to such a request as a failure.
No schema can say if a slot is free, if a page exists, or if a region is in a country.
"""

from __future__ import annotations

from typing import Any

import schemathesis

RULES = {
    "cursor_invalid",
    "idempotency_key_reused",
    "page_out_of_range",
    "provider_unknown",
    "region_outside_country",
    "region_required",
    "region_unknown",
    "request_changed",
    "request_closed",
    "request_not_found",
    "request_started",
    "request_without_slot",
    "slot_already_yours",
    "slot_conflicts_with_yours",
    "slot_unavailable",
    # Conflicts with other members, and the state of a member.
    "email_taken",
    "member_deactivated",
    "member_not_found",
}

# Field faults that a schema cannot express.
FAULTS = {
    "bookingData.utcEndTime: must be exactly 45 minutes after utcStartTime",
    "utcEndTime: must be exactly 45 minutes after utcStartTime",
    "memberData.dob: must not be in the future",
}


@schemathesis.check
def refused_by_a_rule(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    if case.meta is None or response.status_code < 400:
        return
    # The coverage phase counts a case as positive even if it takes the value of another parameter from a negative case.
    modes = [case.meta.generation.mode, *(each.mode for each in case.meta.components.values())]
    if not all(mode.is_positive for mode in modes):
        return
    code = (response.headers.get("x-error-code") or [""])[0]
    if code == "field_invalid":
        faults = set(response.json()["message"].split("; ")) - FAULTS
        if not faults or (faults == {"memberData.email: must be an e-mail address"} and has_long_name(case.body)):
            return
    elif code in RULES:
        return
    raise AssertionError(f"refused with {response.status_code} {code}: {response.text}")


def has_long_name(body: Any) -> bool:
    """Returns True if the local part of the email address has more than 64 characters (RFC 5321 section 4.5.3.1.1)."""
    return len(body["memberData"]["email"].split("@")[0]) > 64
