-- What a member holds, however much they held before.
CREATE INDEX booking_requests_held ON booking_requests (member_id, starts_at)
  WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL;
-- What was submitted since an instant.
CREATE INDEX booking_requests_submitted ON booking_requests (submitted_at);
