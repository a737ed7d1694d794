-- Opens the transaction of a batch. READ COMMITTED is asked for by name: under
-- a stricter default of the database a claim would fail on every row that
-- another relay has just recorded.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE
