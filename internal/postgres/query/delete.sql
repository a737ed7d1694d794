-- Removes accepted rows, where published rows are not to be kept.
--
-- $1 bigint[] the rows
DELETE FROM public.outbox
WHERE seq = ANY ($1::bigint[])
  AND published_at IS NULL
RETURNING seq::bigint
