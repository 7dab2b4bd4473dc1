-- The partner's own limit of e-mail conflicts per hour: 0 for no limit, null for the service's limit.
ALTER TABLE partners ADD COLUMN email_conflicts_per_hour INTEGER CHECK (email_conflicts_per_hour >= 0);
