-- Marks accepted rows as published.
--
-- $1 bigint[] the rows
--
-- It returns the rows that are marked now: a trigger may have undone it.
-- A row that is marked already keeps its time, so the statement can be repeated
-- when the fate of a commit is unknown.
UPDATE public.outbox
SET published_at = clock_timestamp()
WHERE seq = ANY ($1::bigint[])
  AND published_at IS NULL
RETURNING CASE WHEN published_at IS NOT NULL THEN seq::bigint END
