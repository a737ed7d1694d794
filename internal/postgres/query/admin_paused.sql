-- Returns the paused buses, with texts that are bounded, as their number is.
SELECT left(topic::text, 256), left(reason::text, 1000), since::timestamptz
FROM public.outbox_paused
ORDER BY topic
LIMIT 500
