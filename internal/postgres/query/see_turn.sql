-- The number of a run that was taken last.
SELECT last_value AS number FROM public.outbox_turn
