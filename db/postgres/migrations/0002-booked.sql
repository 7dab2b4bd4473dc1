-- Where a provider's taken slots have become one more, and nothing else of them is changed: the request that holds it, and the
-- slot. So nodes that follow bookings are told what was booked, however many slots the provider has. Null where all of them
-- are to be read anew, as older nodes do for every change.
ALTER TABLE changes
  ADD COLUMN request_id bigint,
  ADD COLUMN starts_at bigint,
  ADD COLUMN ends_at bigint,
  ADD COLUMN local_offset_minutes bigint;
