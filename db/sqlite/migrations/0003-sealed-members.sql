-- All that identifies or describes a person is sealed. They are found by keyed hashes, which tell nobody who they are.
-- What SQL cannot do, carrying the rows over, follows in reseal.ts.

CREATE TABLE new_members (
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
