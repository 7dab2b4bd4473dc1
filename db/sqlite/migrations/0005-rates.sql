-- What an operator has set for one partner in place of the service's own limits: so many in a minute, 0 for no limit.
-- Null where nothing was set.
ALTER TABLE partners ADD COLUMN reads_per_minute INTEGER CHECK (reads_per_minute >= 0);
ALTER TABLE partners ADD COLUMN bookings_per_minute INTEGER CHECK (bookings_per_minute >= 0);
