-- The owner of the database makes the outbox, its roles and what these may do.
-- Before PostgreSQL 15 schema public is not the owner's by itself, and anybody's
-- to create tables in.
--
-- <owner>    its login
-- <database> the database
ALTER ROLE <owner> CREATEROLE;
GRANT pg_read_all_stats TO <owner> WITH ADMIN OPTION;
ALTER DATABASE <database> OWNER TO <owner>;
ALTER SCHEMA public OWNER TO <owner>;
REVOKE CREATE ON SCHEMA public FROM PUBLIC
