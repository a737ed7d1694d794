-- Takes the lock of those who migrate one outbox, or says that another has it.
--
-- $1 text the outbox
--
-- It does not wait. A statement that waits has a snapshot, for which the other's
-- concurrent index build would wait in turn.
SELECT pg_try_advisory_xact_lock(hashtextextended('outboxrelay migrate ' || $1::text, 0)) AS locked
