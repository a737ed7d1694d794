-- Takes the next number of a run.
--
-- $1 text the sequence, quoted as in SQL
SELECT nextval($1::text::regclass) AS number
