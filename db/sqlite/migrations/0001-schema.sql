-- Instants are milliseconds since 1970-01-01T00:00Z; dates are YYYY-MM-DD in the provider's zone.
-- A check that lists words has a name, so that a later migration can replace it.

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;

CREATE TABLE organizations (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (name <> ''),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE partners (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (name <> ''),
  organization_id INTEGER REFERENCES organizations (id),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at INTEGER NOT NULL,
  -- The partner's own rate limits per minute: 0 for no limit, null for the service's limits.
  reads_per_minute INTEGER CHECK (reads_per_minute >= 0),
  bookings_per_minute INTEGER CHECK (bookings_per_minute >= 0)
) STRICT;

CREATE TABLE partner_keys (
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

-- One active token per partner: only one of its keys can be without an end.
CREATE UNIQUE INDEX partner_keys_open ON partner_keys (partner_id) WHERE ends_at IS NULL;
CREATE INDEX partner_keys_partner ON partner_keys (partner_id);

CREATE TABLE regions (
  id INTEGER PRIMARY KEY,
  country_code TEXT NOT NULL CHECK (country_code GLOB '[A-Z][A-Z]'),
  code TEXT NOT NULL CHECK (code <> ''),
  local_name TEXT NOT NULL CHECK (local_name <> ''),
  label TEXT NOT NULL CHECK (label <> ''),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  UNIQUE (country_code, code)
) STRICT;

-- Data that belongs to one provider alone is JSON in its row. Links to regions have tables with foreign keys.
CREATE TABLE providers (
  id INTEGER PRIMARY KEY,
  ref TEXT NOT NULL UNIQUE CHECK (ref <> ''),
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  credentials TEXT,
  pronouns TEXT,
  gender TEXT,
  bio TEXT,
  time_zone TEXT NOT NULL,
  languages_spoken TEXT NOT NULL CHECK (json_valid(languages_spoken)),
  modalities TEXT NOT NULL CHECK (json_valid(modalities)),
  working_hours TEXT NOT NULL CHECK (json_valid(working_hours)),
  overrides TEXT NOT NULL CHECK (json_valid(overrides)),
  time_off TEXT NOT NULL CHECK (json_valid(time_off)),
  minimum_notice_minutes INTEGER NOT NULL CHECK (minimum_notice_minutes >= 0),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  -- Set by staff. Directory files do not change these two.
  suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1)),
  staff_time_off TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE TABLE licenses (
  id INTEGER PRIMARY KEY,
  provider_id INTEGER NOT NULL REFERENCES providers (id),
  region_id INTEGER NOT NULL REFERENCES regions (id),
  from_date TEXT NOT NULL,
  until_date TEXT CHECK (until_date >= from_date)
) STRICT;

CREATE INDEX licenses_provider ON licenses (provider_id);
CREATE INDEX licenses_region ON licenses (region_id);

CREATE TABLE in_person_regions (
  provider_id INTEGER NOT NULL REFERENCES providers (id),
  region_id INTEGER NOT NULL REFERENCES regions (id),
  PRIMARY KEY (provider_id, region_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX in_person_regions_region ON in_person_regions (region_id);

-- Everything that identifies or describes a person is sealed. Members are found by keyed hashes.
-- AUTOINCREMENT: partners know the ids of members and requests, so an id is never used again.
CREATE TABLE members (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record_key TEXT NOT NULL UNIQUE,
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  external_user_id_hash BLOB NOT NULL CHECK (length(external_user_id_hash) = 32),
  -- Null for a member whose address was released.
  email_hash BLOB UNIQUE CHECK (length(email_hash) = 32),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  sealed_external_user_id BLOB NOT NULL,
  sealed_profile BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (partner_id, external_user_id_hash)
) STRICT;

CREATE TABLE booking_requests (
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
  -- Minutes east of UTC that the provider's zone was expected to have.
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

-- Notes that staff write about a request, for staff alone. Erasing the member removes them.
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

-- Responses to submissions with an idempotency key, kept until they expire. Key and body are stored as keyed hashes.
CREATE TABLE replays (
  request_id INTEGER PRIMARY KEY REFERENCES booking_requests (id),
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  key_hash BLOB NOT NULL CHECK (length(key_hash) = 32),
  body_hash BLOB NOT NULL CHECK (length(body_hash) = 32),
  sealed_receipt BLOB NOT NULL,
  submitted_at INTEGER NOT NULL,
  UNIQUE (partner_id, key_hash)
) STRICT;

CREATE INDEX replays_submitted ON replays (submitted_at);

-- Every transaction writes here what it changed, for processes that keep the directory in memory.
CREATE TABLE changes (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  noun TEXT NOT NULL,
  record_id INTEGER NOT NULL,
  -- For a slot that became taken: the request that holds it, and the slot. Readers then need not read all taken slots of
  -- the provider. Null for every other change.
  request_id INTEGER,
  starts_at INTEGER,
  ends_at INTEGER,
  local_offset_minutes INTEGER,
  CONSTRAINT changes_noun CHECK (noun IN ('partner', 'region', 'provider', 'taken'))
) STRICT;

-- A reader looks for the row of its own version, so there is a first one.
INSERT INTO changes (noun, record_id) VALUES ('region', 0);

-- The audit trail. Each line is bound to the line before it in its chain by its hash.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  record TEXT,
  outcome TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

CREATE INDEX audit_record ON audit (record, action, at);
CREATE INDEX audit_actor ON audit (actor, action, at);
CREATE INDEX audit_action ON audit (action, at);

CREATE TRIGGER audit_keeps_words BEFORE UPDATE ON audit BEGIN SELECT RAISE (ABORT, 'audit lines stay as they are'); END;
-- A line can be deleted only after a prune has moved the start of its chain behind it.
CREATE TRIGGER audit_keeps_lines BEFORE DELETE ON audit
  WHEN OLD.id > coalesce((
    SELECT json_extract(
      CAST(value AS TEXT),
      CASE OLD.action WHEN 'authentication.refuse' THEN '$.refusals.start.id' ELSE '$.acts.start.id' END
    ) FROM settings WHERE name = 'audit'
  ), 0)
  BEGIN SELECT RAISE (ABORT, 'audit lines stay'); END;
