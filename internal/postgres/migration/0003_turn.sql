-- The oldest version of the functions that tables of this one still serve; null:
-- only its own. A deployment that is rolled back runs the older functions on them.
ALTER TABLE public.outbox_schema ADD COLUMN IF NOT EXISTS serves int;

-- The number of the run of the relay that was the last to begin polling; an older
-- run ends when it sees a newer one's. A sequence has no dead rows, and others see
-- at once what was taken.
CREATE SEQUENCE IF NOT EXISTS public.outbox_turn;

COMMENT ON SEQUENCE public.outbox_turn IS 'Numbers of the relay''s runs that poll: older ones make way for newer ones.';
