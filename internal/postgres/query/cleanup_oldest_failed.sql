-- Finds where the failed events that have expired begin and end, as
-- cleanup_oldest_published.sql does for published ones.
--
-- $1 timestamptz, $2 bigint only events after this place are looked at
-- $3 bigint                 the retention, in microseconds
-- $4 bigint                 the first so many of these events are passed over
SELECT t.expired, o.failed_at, o.seq::bigint AS seq
FROM (SELECT now() - $3::bigint * interval '1 microsecond' AS expired) AS t
LEFT JOIN LATERAL (
    SELECT failed_at, seq
    FROM public.outbox_failed
    WHERE (failed_at, seq) > ($1::timestamptz, $2::bigint)
      AND failed_at < t.expired
    ORDER BY failed_at, seq
    LIMIT 1 OFFSET $4::bigint
) AS o ON true
