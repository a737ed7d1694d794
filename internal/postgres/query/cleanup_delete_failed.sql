-- Deletes failed events that have expired, as cleanup_delete_published.sql does
-- published ones.
--
-- $1 timestamptz, $2 bigint only events after this place
-- $3 timestamptz, $4 bigint only events up to this place
-- $5 bigint                 at most so many
WITH locked AS MATERIALIZED (
    SELECT failed_at, seq
    FROM public.outbox_failed
    WHERE (failed_at, seq) > ($1::timestamptz, $2::bigint)
      AND (failed_at, seq) <= ($3::timestamptz, $4::bigint)
    ORDER BY failed_at, seq
    LIMIT $5::bigint
    FOR UPDATE SKIP LOCKED
),
deleted AS (
    DELETE FROM public.outbox_failed AS o
    USING locked AS l
    WHERE o.seq = l.seq
      AND o.failed_at = l.failed_at
    RETURNING o.seq
)
SELECT (SELECT count(*) FROM locked) AS locked,
       (SELECT count(*) FROM deleted) AS deleted,
       l.failed_at,
       l.seq::bigint AS seq,
       (SELECT min(kept.seq)::bigint FROM locked AS kept WHERE kept.seq NOT IN (SELECT seq FROM deleted)) AS kept
FROM locked AS l
ORDER BY l.failed_at DESC, l.seq DESC
LIMIT 1
