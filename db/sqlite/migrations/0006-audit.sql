-- The audit log is hashed under a key, and its newest line is sealed: see rehash-audit.ts, which brings the old lines over.

-- Whoever changed the log before may have dropped them already.
DROP TRIGGER IF EXISTS audit_keeps_lines;
DROP TRIGGER IF EXISTS audit_keeps_words;
DROP INDEX IF EXISTS audit_record;
ALTER TABLE audit RENAME TO unkeyed_audit;

-- Who did what to which record, each line bound to the one before it of its chain by its hash.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  record TEXT,
  outcome TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

-- For asking who touched a record, who did what, and when.
CREATE INDEX audit_record ON audit (record);
CREATE INDEX audit_actor ON audit (actor);
CREATE INDEX audit_at ON audit (at);
-- The addresses of different members that a partner has sent.
CREATE INDEX audit_email_conflicts ON audit (actor, at) WHERE action = 'member.email-conflict';

CREATE TRIGGER audit_keeps_words BEFORE UPDATE ON audit BEGIN SELECT RAISE (ABORT, 'audit lines stay as they are'); END;
-- Lines go only once the log starts behind them, as a prune notes it before.
CREATE TRIGGER audit_keeps_lines BEFORE DELETE ON audit
  WHEN OLD.id > coalesce((
    SELECT json_extract(
      CAST(value AS TEXT),
      CASE OLD.action WHEN 'authentication.refuse' THEN '$.refusals.start.id' ELSE '$.acts.start.id' END
    ) FROM settings WHERE name = 'audit'
  ), 0)
  BEGIN SELECT RAISE (ABORT, 'audit lines stay'); END;
