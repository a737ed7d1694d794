-- Finds where the published events that have expired begin and end.
--
-- $1 timestamptz, $2 bigint only events after this place are looked at
-- $3 bigint                 the retention, in microseconds
-- $4 bigint                 the first so many of these events are passed over
--
-- It locks nothing, so that it may take its time: deleted rows leave entries in
-- the index until vacuum can remove them, and all of those of earlier runs are
-- in its way.
--
-- There is always one row: the time before which events have expired by now, by
-- the database's clock, and the place of the first one of them, or nulls. An
-- interval of microseconds means the same in every time zone.
SELECT t.expired, o.published_at, o.seq::bigint AS seq
FROM (SELECT now() - $3::bigint * interval '1 microsecond' AS expired) AS t
LEFT JOIN LATERAL (
    SELECT published_at, seq
    FROM public.outbox
    WHERE published_at IS NOT NULL
      AND (published_at, seq) > ($1::timestamptz, $2::bigint)
      AND published_at < t.expired
    ORDER BY published_at, seq
    LIMIT 1 OFFSET $4::bigint
) AS o ON true
