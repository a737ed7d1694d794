-- An operator mends what failed for its type, which is longer than EventBridge
-- takes: what comes after the slash is of no use to anybody.
UPDATE public.outbox_failed
SET event_type = split_part(event_type, '/', 1)
WHERE length(event_type) > 128
