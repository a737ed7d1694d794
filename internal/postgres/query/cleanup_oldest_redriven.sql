-- Finds where the history of redrives that has expired begins and ends, as
-- cleanup_oldest_published.sql does for published events.
--
-- $1 timestamptz, $2 bigint only redrives after this place are looked at
-- $3 bigint                 the retention, in microseconds
-- $4 bigint                 the first so many of these redrives are passed over
SELECT t.expired, o.redriven_at, o.seq::bigint AS seq
FROM (SELECT now() - $3::bigint * interval '1 microsecond' AS expired) AS t
LEFT JOIN LATERAL (
    SELECT redriven_at, seq
    FROM public.outbox_redriven
    WHERE (redriven_at, seq) > ($1::timestamptz, $2::bigint)
      AND redriven_at < t.expired
    ORDER BY redriven_at, seq
    LIMIT 1 OFFSET $4::bigint
) AS o ON true
