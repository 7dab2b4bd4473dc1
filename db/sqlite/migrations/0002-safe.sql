-- The member's data as the partner sent it with the request, and the earlier values of what it changed. Sealed.
ALTER TABLE booking_requests ADD COLUMN sealed_sent_profile BLOB CHECK (member_id IS NOT NULL OR sealed_sent_profile IS NULL);

-- The intakes of a member that wait for a provider.
CREATE INDEX booking_requests_intakes ON booking_requests (member_id) WHERE state = 'unassigned' AND member_id IS NOT NULL;

-- The partner's own limit of intakes per hour: 0 for no limit, null for the service's limit.
ALTER TABLE partners ADD COLUMN intakes_per_hour INTEGER CHECK (intakes_per_hour >= 0);
-- The networks (CIDR, separated by commas) from which the partner's tokens are accepted: null for any.
ALTER TABLE partners ADD COLUMN networks TEXT CHECK (networks <> '');
