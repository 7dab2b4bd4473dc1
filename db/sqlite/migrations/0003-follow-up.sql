-- The partner's own limit of e-mail conflicts per hour: 0 for no limit, null for the service's limit.
ALTER TABLE partners ADD COLUMN email_conflicts_per_hour INTEGER CHECK (email_conflicts_per_hour >= 0);

-- For cursors of the list of changes. A restored backup gets a new value, also one of an older schema.
INSERT OR IGNORE INTO settings (name, value) VALUES ('generation', randomblob(16));

-- SQLite cannot change a constraint, so the tables are written again.
CREATE TABLE new_booking_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record_key TEXT NOT NULL UNIQUE,
  -- Null only for a person who was erased before this column was added.
  partner_id INTEGER REFERENCES partners (id),
  -- Null once the person has been erased.
  member_id INTEGER REFERENCES members (id),
  is_intake INTEGER NOT NULL CHECK (is_intake IN (0, 1)),
  state TEXT NOT NULL,
  provider_id INTEGER REFERENCES providers (id),
  authorization_number TEXT UNIQUE,
  starts_at INTEGER,
  ends_at INTEGER CHECK (ends_at > starts_at),
  -- Minutes east of UTC that the provider's zone was expected to have.
  local_offset_minutes INTEGER,
  accepted_at INTEGER,
  declined_at INTEGER,
  cancelled_at INTEGER,
  sealed_screening_answers BLOB,
  sealed_sent_profile BLOB CHECK (member_id IS NOT NULL OR sealed_sent_profile IS NULL),
  submitted_at INTEGER NOT NULL,
  CONSTRAINT booking_requests_state CHECK (state IN ('unassigned', 'pending', 'accepted', 'declined', 'closed', 'cancelled')),
  CONSTRAINT booking_requests_assigned CHECK (state = 'cancelled' OR (state IN ('unassigned', 'closed')) = (provider_id IS NULL)),
  CONSTRAINT booking_requests_accepted CHECK (state <> 'accepted' OR accepted_at IS NOT NULL),
  CONSTRAINT booking_requests_declined CHECK ((state IN ('declined', 'closed')) = (declined_at IS NOT NULL)),
  CONSTRAINT booking_requests_cancelled CHECK ((state = 'cancelled') = (cancelled_at IS NOT NULL)),
  CHECK ((member_id IS NULL) = (sealed_screening_answers IS NULL)),
  CHECK (is_intake = 1 OR starts_at IS NOT NULL),
  CHECK ((provider_id IS NULL) = (authorization_number IS NULL)),
  CHECK ((starts_at IS NULL) = (ends_at IS NULL)),
  CHECK ((starts_at IS NULL) = (local_offset_minutes IS NULL)),
  CHECK (starts_at IS NULL OR provider_id IS NOT NULL)
) STRICT;

-- No id of a deleted row may be generated again.
INSERT INTO sqlite_sequence (name, seq)
  SELECT 'new_' || name, seq FROM sqlite_sequence WHERE name IN ('booking_requests', 'request_notes');
INSERT INTO new_booking_requests
  SELECT request.id, request.record_key, member.partner_id, member_id, is_intake, state, provider_id, authorization_number,
    starts_at, ends_at, local_offset_minutes, accepted_at, declined_at, NULL, sealed_screening_answers, sealed_sent_profile,
    submitted_at
  FROM booking_requests AS request LEFT JOIN members AS member ON member.id = member_id ORDER BY request.id;
DROP TABLE booking_requests;
ALTER TABLE new_booking_requests RENAME TO booking_requests;

CREATE INDEX booking_requests_member ON booking_requests (member_id);
-- Prevents double booking, whatever the program does.
CREATE UNIQUE INDEX booking_requests_slot ON booking_requests (provider_id, starts_at)
  WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL;
-- The slots that a member holds.
CREATE INDEX booking_requests_held ON booking_requests (member_id, starts_at)
  WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL;
CREATE INDEX booking_requests_submitted ON booking_requests (submitted_at);
-- The operator's queue.
CREATE INDEX booking_requests_unassigned ON booking_requests (id) WHERE state = 'unassigned';
CREATE INDEX booking_requests_waiting ON booking_requests (id) WHERE state IN ('unassigned', 'pending');
CREATE INDEX booking_requests_intakes ON booking_requests (member_id) WHERE state = 'unassigned' AND member_id IS NOT NULL;

-- The order of the last changes of a partner's requests.
CREATE TABLE request_positions (
  request_id INTEGER PRIMARY KEY,
  partner_id INTEGER NOT NULL,
  position INTEGER NOT NULL
) STRICT;
INSERT INTO request_positions SELECT id, partner_id, row_number() OVER (PARTITION BY partner_id ORDER BY id)
  FROM booking_requests WHERE partner_id IS NOT NULL;
CREATE UNIQUE INDEX request_positions_order ON request_positions (partner_id, position);

CREATE TABLE new_request_notes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record_key TEXT NOT NULL UNIQUE,
  request_id INTEGER NOT NULL REFERENCES booking_requests (id),
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  sealed_text BLOB NOT NULL,
  CONSTRAINT request_notes_kind CHECK (kind IN ('note', 'decline', 'close', 'cancel'))
) STRICT;
INSERT INTO new_request_notes SELECT * FROM request_notes;
DROP TABLE request_notes;
ALTER TABLE new_request_notes RENAME TO request_notes;
CREATE INDEX request_notes_request ON request_notes (request_id);
-- SQLite adds a counter of 0 for an empty table, and a copy of the database would add a second one.
DELETE FROM sqlite_sequence WHERE seq IS NULL OR seq = 0;

-- Cancelled requests with a raised or unreadable ninth item that staff have not read. Keyed by a hash and sealed, because a
-- stored risk must not be readable.
CREATE TABLE unread_risks (
  request_hash TEXT PRIMARY KEY,
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  sealed_request_id BLOB NOT NULL
) STRICT;
-- Their number is limited for each partner.
CREATE INDEX unread_risks_partner ON unread_risks (partner_id);
