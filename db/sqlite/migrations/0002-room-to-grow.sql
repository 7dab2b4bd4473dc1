-- Every constraint that lists words has a name now, by which a later migration can drop it and add a longer one.
-- A table is rebuilt by copying it. Ids stay, and so does the highest that was ever given (sqlite_sequence).

CREATE TABLE new_partner_keys (
  id INTEGER PRIMARY KEY,
  record_key TEXT NOT NULL UNIQUE,
  kid TEXT NOT NULL UNIQUE CHECK (kid <> ''),
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  sealed_secret BLOB NOT NULL,
  issued_at INTEGER NOT NULL,
  starts_at INTEGER NOT NULL,
  ends_at INTEGER CHECK (ends_at >= starts_at),
  end_reason TEXT,
  last_used_at INTEGER,
  CONSTRAINT partner_keys_end_reason CHECK (end_reason IN ('rotated', 'revoked', 'cancelled')),
  CHECK ((ends_at IS NULL) = (end_reason IS NULL))
) STRICT;

INSERT INTO new_partner_keys
  SELECT id, record_key, kid, partner_id, sealed_secret, issued_at, starts_at, ends_at, end_reason, last_used_at
  FROM partner_keys;
DROP TABLE partner_keys;
ALTER TABLE new_partner_keys RENAME TO partner_keys;

-- One active token per partner: only one of its keys can be without an end.
CREATE UNIQUE INDEX partner_keys_open ON partner_keys (partner_id) WHERE ends_at IS NULL;
CREATE INDEX partner_keys_partner ON partner_keys (partner_id);

CREATE TABLE new_booking_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record_key TEXT NOT NULL UNIQUE,
  -- Null once the person has been erased.
  member_id INTEGER REFERENCES members (id),
  is_intake INTEGER NOT NULL CHECK (is_intake IN (0, 1)),
  state TEXT NOT NULL,
  provider_id INTEGER REFERENCES providers (id),
  authorization_number TEXT UNIQUE,
  starts_at INTEGER,
  ends_at INTEGER CHECK (ends_at > starts_at),
  -- What the provider's clock was expected to show: minutes east of UTC.
  local_offset_minutes INTEGER,
  accepted_at INTEGER,
  declined_at INTEGER,
  sealed_screening_answers BLOB,
  submitted_at INTEGER NOT NULL,
  CONSTRAINT booking_requests_state CHECK (state IN ('unassigned', 'pending', 'accepted', 'declined')),
  CONSTRAINT booking_requests_assigned CHECK ((state = 'unassigned') = (provider_id IS NULL)),
  CONSTRAINT booking_requests_accepted CHECK (state <> 'accepted' OR accepted_at IS NOT NULL),
  CONSTRAINT booking_requests_declined CHECK ((state = 'declined') = (declined_at IS NOT NULL)),
  CHECK ((member_id IS NULL) = (sealed_screening_answers IS NULL)),
  CHECK (is_intake = 1 OR starts_at IS NOT NULL),
  CHECK ((provider_id IS NULL) = (authorization_number IS NULL)),
  CHECK ((starts_at IS NULL) = (ends_at IS NULL)),
  CHECK ((starts_at IS NULL) = (local_offset_minutes IS NULL)),
  CHECK (starts_at IS NULL OR provider_id IS NOT NULL)
) STRICT;

INSERT INTO new_booking_requests
  SELECT id, record_key, member_id, is_intake, state, provider_id, authorization_number, starts_at, ends_at,
    local_offset_minutes, accepted_at, declined_at, sealed_screening_answers, submitted_at
  FROM booking_requests;
DELETE FROM sqlite_sequence WHERE name = 'new_booking_requests';
INSERT INTO sqlite_sequence SELECT 'new_booking_requests', seq FROM sqlite_sequence WHERE name = 'booking_requests';
DROP TABLE booking_requests;
ALTER TABLE new_booking_requests RENAME TO booking_requests;

CREATE INDEX booking_requests_member ON booking_requests (member_id);
-- The last word on double booking.
CREATE UNIQUE INDEX booking_requests_slot ON booking_requests (provider_id, starts_at)
  WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL;
-- The operator's queue.
CREATE INDEX booking_requests_unassigned ON booking_requests (id) WHERE state = 'unassigned';

CREATE TABLE new_changes (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  noun TEXT NOT NULL,
  record_id INTEGER NOT NULL,
  CONSTRAINT changes_noun CHECK (noun IN ('partner', 'region', 'provider', 'taken'))
) STRICT;

INSERT INTO new_changes SELECT version, noun, record_id FROM changes;
DELETE FROM sqlite_sequence WHERE name = 'new_changes';
INSERT INTO sqlite_sequence SELECT 'new_changes', seq FROM sqlite_sequence WHERE name = 'changes';
DROP TABLE changes;
ALTER TABLE new_changes RENAME TO changes;

-- For asking who touched a record.
CREATE INDEX audit_record ON audit (record);
