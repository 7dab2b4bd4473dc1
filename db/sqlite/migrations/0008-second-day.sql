-- What the operator's staff do on a second day: an intake that is closed, notes, and what they say of a provider, which
-- directory files neither bring nor take away.

-- To add a column, or to copy a table, SQLite checks every row, and one that breaks a rule must not keep the rest from being
-- brought over: doctor tells of it.
PRAGMA ignore_check_constraints = ON;
ALTER TABLE providers ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1));
ALTER TABLE providers ADD COLUMN staff_time_off TEXT NOT NULL DEFAULT '[]';
-- Whom staff have switched off, and not the directory, as far as the audit log tells.
UPDATE providers SET suspended = 1
  WHERE active = 0 AND 'provider.deactivate' = (
    SELECT action FROM audit
    WHERE record = 'provider ' || providers.id AND action IN ('provider.deactivate', 'provider.reactivate')
    ORDER BY audit.id DESC LIMIT 1
  );

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
  CONSTRAINT booking_requests_state CHECK (state IN ('unassigned', 'pending', 'accepted', 'declined', 'closed')),
  CONSTRAINT booking_requests_assigned CHECK ((state IN ('unassigned', 'closed')) = (provider_id IS NULL)),
  CONSTRAINT booking_requests_accepted CHECK (state <> 'accepted' OR accepted_at IS NOT NULL),
  CONSTRAINT booking_requests_declined CHECK ((state IN ('declined', 'closed')) = (declined_at IS NOT NULL)),
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
PRAGMA ignore_check_constraints = OFF;

CREATE INDEX booking_requests_member ON booking_requests (member_id);
-- The last word on double booking.
CREATE UNIQUE INDEX booking_requests_slot ON booking_requests (provider_id, starts_at)
  WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL;
CREATE INDEX booking_requests_held ON booking_requests (member_id, starts_at)
  WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL;
CREATE INDEX booking_requests_submitted ON booking_requests (submitted_at);
-- The operator's queue: what waits for a provider, and what waits for anybody.
CREATE INDEX booking_requests_unassigned ON booking_requests (id) WHERE state = 'unassigned';
CREATE INDEX booking_requests_waiting ON booking_requests (id) WHERE state IN ('unassigned', 'pending');

-- What staff write about a request, for staff alone. It goes with the person.
CREATE TABLE request_notes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record_key TEXT NOT NULL UNIQUE,
  request_id INTEGER NOT NULL REFERENCES booking_requests (id),
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  sealed_text BLOB NOT NULL,
  CONSTRAINT request_notes_kind CHECK (kind IN ('note', 'decline', 'close'))
) STRICT;
CREATE INDEX request_notes_request ON request_notes (request_id);

-- Who touched a record, who did what, and what was done, each in the order of the instants, without a look at more lines
-- than are asked for.
DROP INDEX audit_record;
DROP INDEX audit_actor;
DROP INDEX audit_email_conflicts;
CREATE INDEX audit_record ON audit (record, action, at);
CREATE INDEX audit_actor ON audit (actor, action, at);
CREATE INDEX audit_action ON audit (action, at);
