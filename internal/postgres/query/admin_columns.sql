-- Returns the columns of the outbox that cannot be written: constants and
-- expressions of a view, and generated ones. They have their value by themselves.
--
-- $1 text the outbox, quoted as in SQL
SELECT a.attname::text
FROM pg_catalog.pg_attribute AS a
WHERE a.attrelid = $1::text::regclass
  AND a.attnum > 0
  AND NOT a.attisdropped
  AND (a.attgenerated <> '' OR NOT pg_catalog.pg_column_is_updatable(a.attrelid, a.attnum, true))
