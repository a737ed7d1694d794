-- The number of the run of the relay that was the last to begin polling; an older
-- run ends when it sees a newer one's. A sequence has no dead rows, and others see
-- at once what was taken.
CREATE SEQUENCE IF NOT EXISTS public.outbox_turn;

COMMENT ON SEQUENCE public.outbox_turn IS 'Numbers of the relay''s runs that poll: older ones make way for newer ones.';
