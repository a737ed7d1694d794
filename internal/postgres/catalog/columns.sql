-- The columns of a table or view.
--
-- $1 bigint its oid
--
-- A domain counts as the type that it is made of.
SELECT a.attname::text AS name,
       format_type(a.atttypid, a.atttypmod) AS written,
       format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL) AS base,
       t.typcategory::text AS category,
       a.attnotnull AS not_null,
       a.attgenerated = '' AND pg_column_is_updatable($1::bigint::oid::regclass, a.attnum, false) AS updatable
FROM pg_attribute AS a
JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = $1::bigint::oid
  AND a.attnum > 0
  AND NOT a.attisdropped
ORDER BY a.attnum
