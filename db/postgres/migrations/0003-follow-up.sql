-- The partner's own limit of e-mail conflicts per hour: 0 for no limit, null for the service's limit.
ALTER TABLE partners ADD COLUMN email_conflicts_per_hour bigint CHECK (email_conflicts_per_hour >= 0);

-- For cursors of the list of changes. A restored backup gets a new value, a copy in another engine keeps it.
INSERT INTO settings (name, value) VALUES ('generation', decode(replace(gen_random_uuid()::text, '-', ''), 'hex')) ON CONFLICT DO NOTHING;

-- The partner is null only for a person who was erased before this column was added.
ALTER TABLE booking_requests ADD COLUMN partner_id bigint REFERENCES partners (id);
ALTER TABLE booking_requests ADD COLUMN cancelled_at bigint;
-- The order of the last changes of a partner's requests.
ALTER TABLE booking_requests ADD COLUMN position bigint;

UPDATE booking_requests AS request SET partner_id = placed.partner_id, position = placed.position
FROM (
  SELECT each.id, member.partner_id, row_number() OVER (PARTITION BY member.partner_id ORDER BY each.id) AS position
  FROM booking_requests AS each LEFT JOIN members AS member ON member.id = each.member_id
) AS placed
WHERE placed.id = request.id;

ALTER TABLE booking_requests
  DROP CONSTRAINT booking_requests_state,
  ADD CONSTRAINT booking_requests_state
    CHECK (state IN ('unassigned', 'pending', 'accepted', 'declined', 'closed', 'cancelled')),
  DROP CONSTRAINT booking_requests_assigned,
  ADD CONSTRAINT booking_requests_assigned
    CHECK (state = 'cancelled' OR (state IN ('unassigned', 'closed')) = (provider_id IS NULL)),
  ADD CONSTRAINT booking_requests_cancelled CHECK ((state = 'cancelled') = (cancelled_at IS NOT NULL)),
  ADD CHECK (member_id IS NULL OR partner_id IS NOT NULL);
-- The list of changes.
CREATE UNIQUE INDEX booking_requests_position ON booking_requests (partner_id, position);

ALTER TABLE request_notes
  DROP CONSTRAINT request_notes_kind,
  ADD CONSTRAINT request_notes_kind CHECK (kind IN ('note', 'decline', 'close', 'cancel'));

-- Cancelled requests with a raised or unreadable ninth item that staff have not read. Keyed by a hash and sealed, because a
-- stored risk must not be readable.
CREATE TABLE unread_risks (
  request_hash text COLLATE "C" PRIMARY KEY,
  partner_id bigint NOT NULL REFERENCES partners (id),
  sealed_request_id bytea NOT NULL
);
-- Their number is limited for each partner.
CREATE INDEX unread_risks_partner ON unread_risks (partner_id);
