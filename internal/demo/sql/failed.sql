-- The events that were given up, each with its reason.
SELECT id::text, seq, error_code, error_message
FROM public.outbox_failed
