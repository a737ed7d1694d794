-- Deletes the history of redrives that has expired, as
-- cleanup_delete_published.sql does published events.
--
-- $1 timestamptz, $2 bigint only redrives after this place
-- $3 timestamptz, $4 bigint only redrives up to this place
-- $5 bigint                 at most so many
--
-- An event may have been moved back more than once. Should two of its redrives
-- have the same time and the batch end between them, the second one is left to
-- the next run.
WITH locked AS MATERIALIZED (
    SELECT redriven_at, seq, times_failed
    FROM public.outbox_redriven
    WHERE (redriven_at, seq) > ($1::timestamptz, $2::bigint)
      AND (redriven_at, seq) <= ($3::timestamptz, $4::bigint)
    ORDER BY redriven_at, seq
    LIMIT $5::bigint
    FOR UPDATE SKIP LOCKED
),
deleted AS (
    DELETE FROM public.outbox_redriven AS o
    USING locked AS l
    WHERE o.seq = l.seq
      AND o.times_failed = l.times_failed
      AND o.redriven_at = l.redriven_at
    RETURNING o.seq
)
SELECT (SELECT count(*) FROM locked) AS locked,
       (SELECT count(*) FROM deleted) AS deleted,
       l.redriven_at,
       l.seq::bigint AS seq,
       (SELECT min(kept.seq)::bigint FROM locked AS kept WHERE kept.seq NOT IN (SELECT seq FROM deleted)) AS kept
FROM locked AS l
ORDER BY l.redriven_at DESC, l.seq DESC
LIMIT 1
