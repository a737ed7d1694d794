-- A role for each part, with what it needs and no more. They cannot log in:
-- grant one to the user that an application or a function connects as, for
-- example GRANT outbox_writer TO shop.
DO $$
DECLARE
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['writer', 'relay', 'cleanup', 'lag', 'admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'outbox_' || part) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', 'outbox_' || part);
        END IF;
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA public TO outbox_writer, outbox_relay, outbox_cleanup, outbox_lag, outbox_admin;

-- Applications write events and need not read them.
GRANT INSERT (id, aggregate_type, aggregate_id, event_type, payload, headers, source, topic, created_at, deliver_after)
    ON public.outbox TO outbox_writer;

-- The relay claims, records what became of a row, and moves rows to the failed table.
GRANT SELECT, DELETE ON public.outbox TO outbox_relay;
GRANT UPDATE (retry_at, attempts, last_error, published_at) ON public.outbox TO outbox_relay;
GRANT INSERT, SELECT (seq) ON public.outbox_failed TO outbox_relay;
GRANT SELECT (seq, id, times_failed) ON public.outbox_redriven TO outbox_relay;
GRANT SELECT (topic) ON public.outbox_paused TO outbox_relay;
GRANT USAGE, SELECT ON SEQUENCE public.outbox_turn TO outbox_relay;

-- The cleanup locks and deletes rows. Locking needs the right to update a column.
GRANT SELECT (seq, published_at), UPDATE (published_at), DELETE ON public.outbox TO outbox_cleanup;
GRANT SELECT (seq, failed_at), UPDATE (failed_at), DELETE ON public.outbox_failed TO outbox_cleanup;
GRANT SELECT (seq, times_failed, redriven_at), UPDATE (redriven_at), DELETE ON public.outbox_redriven TO outbox_cleanup;

-- The lag function counts rows. What is in the events is not for it to see.
GRANT SELECT (seq, topic, created_at, deliver_after, published_at) ON public.outbox TO outbox_lag;
GRANT SELECT (seq) ON public.outbox_failed TO outbox_lag;
GRANT SELECT (topic) ON public.outbox_paused TO outbox_lag;

-- The admin function measures the lag, moves failed events back, with all that is
-- in them, or discards them, and pauses buses.
GRANT SELECT (seq, id, topic, created_at, deliver_after, published_at), INSERT ON public.outbox TO outbox_admin;
GRANT SELECT, UPDATE (failed_at), DELETE ON public.outbox_failed TO outbox_admin;
GRANT SELECT, INSERT, UPDATE (id, attempts, failed_at, error_code, error_message, redriven_at)
    ON public.outbox_redriven TO outbox_admin;
GRANT SELECT, INSERT (topic, reason), UPDATE (reason), DELETE ON public.outbox_paused TO outbox_admin;

-- How long the transactions of others have been open is shown to members of
-- pg_read_all_stats. So are the statements of all users of the server, with the
-- literals in them. You may leave the grant out: the age of the oldest
-- transaction is then that of the functions' own and of prepared ones, and they
-- warn of it. Who may not grant it leaves that to who may.
DO $$
BEGIN
    IF NOT (pg_has_role('outbox_lag', 'pg_read_all_stats', 'MEMBER')
            AND pg_has_role('outbox_admin', 'pg_read_all_stats', 'MEMBER')) THEN
        GRANT pg_read_all_stats TO outbox_lag, outbox_admin;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'outbox_lag and outbox_admin do not see the transactions of other users: have an administrator run GRANT pg_read_all_stats TO outbox_lag, outbox_admin';
END
$$;
