-- Opens the transaction of a measurement. READ COMMITTED is asked for by name:
-- under a stricter default of the database all statements would see what the
-- first one saw, and a table that is being rewritten looks empty to who saw it
-- before and waited for it.
BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY
