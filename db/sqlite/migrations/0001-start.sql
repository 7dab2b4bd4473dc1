-- Instants are milliseconds since 1970-01-01T00:00Z; dates are YYYY-MM-DD in the provider's zone.

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
  created_at INTEGER NOT NULL
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
  end_reason TEXT CHECK (end_reason IN ('rotated', 'revoked', 'cancelled')),
  last_used_at INTEGER,
  CHECK ((ends_at IS NULL) = (end_reason IS NULL))
) STRICT;

-- One active token per partner: only one of its keys can be without an end.
CREATE UNIQUE INDEX partner_keys_open ON partner_keys (partner_id) WHERE ends_at IS NULL;

CREATE TABLE regions (
  id INTEGER PRIMARY KEY,
  country_code TEXT NOT NULL CHECK (country_code GLOB '[A-Z][A-Z]'),
  code TEXT NOT NULL CHECK (code <> ''),
  local_name TEXT NOT NULL CHECK (local_name <> ''),
  label TEXT NOT NULL CHECK (label <> ''),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  UNIQUE (country_code, code)
) STRICT;

-- What belongs to one provider alone is JSON in its row; what ties it to regions has tables with foreign keys.
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
  active INTEGER NOT NULL CHECK (active IN (0, 1))
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

-- AUTOINCREMENT: the id of a member or a request is known outside and is never given to another.
CREATE TABLE members (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  external_user_id TEXT NOT NULL CHECK (external_user_id <> ''),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  email TEXT NOT NULL,
  folded_email TEXT NOT NULL UNIQUE,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  country TEXT NOT NULL CHECK (country GLOB '[A-Z][A-Z]'),
  preferred_name TEXT,
  preferred_pronouns TEXT,
  dob TEXT,
  gender TEXT,
  marital_status TEXT,
  client_type TEXT,
  leave_voicemail TEXT,
  phone_number TEXT,
  street_address TEXT,
  suite TEXT,
  city TEXT,
  state TEXT,
  zip_code TEXT,
  reason_for_seeking_support TEXT,
  preferred_modality TEXT,
  preferred_spoken_language TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (partner_id, external_user_id)
) STRICT;

CREATE TABLE booking_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record_key TEXT NOT NULL UNIQUE,
  -- Null once the person has been erased.
  member_id INTEGER REFERENCES members (id),
  is_intake INTEGER NOT NULL CHECK (is_intake IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('unassigned', 'pending', 'accepted', 'declined')),
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
  CHECK ((member_id IS NULL) = (sealed_screening_answers IS NULL)),
  CHECK (is_intake = 1 OR starts_at IS NOT NULL),
  CHECK ((state = 'unassigned') = (provider_id IS NULL)),
  CHECK ((provider_id IS NULL) = (authorization_number IS NULL)),
  CHECK ((starts_at IS NULL) = (ends_at IS NULL)),
  CHECK ((starts_at IS NULL) = (local_offset_minutes IS NULL)),
  CHECK (starts_at IS NULL OR provider_id IS NOT NULL),
  CHECK (state <> 'accepted' OR accepted_at IS NOT NULL),
  CHECK ((state = 'declined') = (declined_at IS NOT NULL))
) STRICT;

CREATE INDEX booking_requests_member ON booking_requests (member_id);
-- The last word on double booking.
CREATE UNIQUE INDEX booking_requests_slot ON booking_requests (provider_id, starts_at)
  WHERE state IN ('pending', 'accepted') AND starts_at IS NOT NULL;

-- What every transaction leaves for the processes that hold the directory in memory.
CREATE TABLE changes (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  noun TEXT NOT NULL CHECK (noun IN ('partner', 'region', 'provider', 'taken')),
  record_id INTEGER NOT NULL
) STRICT;

-- Who did what to which record, each line bound to the one before it by its hash.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  record TEXT,
  outcome TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE
) STRICT;

CREATE TRIGGER audit_keeps_lines BEFORE DELETE ON audit BEGIN SELECT RAISE (ABORT, 'audit lines stay'); END;
CREATE TRIGGER audit_keeps_words BEFORE UPDATE ON audit BEGIN SELECT RAISE (ABORT, 'audit lines stay as they are'); END;
