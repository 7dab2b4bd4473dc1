-- What submissions that came with an idempotency key were answered with, for as long as their retries are answered so. The
-- key and the body are known by keyed hashes alone.
CREATE TABLE replays (
  request_id INTEGER PRIMARY KEY REFERENCES booking_requests (id),
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
  body_hash BLOB NOT NULL CHECK (length(body_hash) = 32),
  sealed_receipt BLOB NOT NULL,
  submitted_at INTEGER NOT NULL,
  UNIQUE (partner_id, key_hash)
) STRICT;
-- Those that have expired, however many have not.
CREATE INDEX replays_submitted ON replays (submitted_at);
