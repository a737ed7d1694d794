-- The indexes of a table.
--
-- $1 text its schema
-- $2 text its name
--
-- The definition is what tells one from another: its columns and its condition,
-- without its storage parameters. An index that was left by a build that broke
-- off is not valid.
SELECT i.relname::text AS name,
       regexp_replace(substring(pg_get_indexdef(i.oid) FROM ' USING btree (.*)$'), ' WITH \([^)]*\)', '') AS definition,
       x.indisvalid AS valid
FROM pg_index AS x
JOIN pg_class AS i ON i.oid = x.indexrelid
JOIN pg_am AS m ON m.oid = i.relam AND m.amname = 'btree'
JOIN pg_class AS c ON c.oid = x.indrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text
  AND c.relname = $2::text
ORDER BY i.relname
