-- Counts the failed events that pass the filters of admin_find.sql.
--
-- $1 to $4       as there
-- $5 bigint      the count stops here
SELECT count(*)
FROM (
    SELECT
    FROM public.outbox_failed AS f
    WHERE (cardinality($1::text[]) = 0 OR f.id = ANY ($1::text[]::uuid[]))
      AND ($2::text = '' OR f.event_type::text = $2::text)
      AND ($3::text = '' OR f.error_code::text = $3::text)
      AND ($4::timestamptz = '-infinity' OR f.failed_at < $4::timestamptz)
    LIMIT $5::bigint
) AS matched
