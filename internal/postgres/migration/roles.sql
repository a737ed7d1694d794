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
GRANT SELECT ON public.outbox_paused, public.outbox_schema TO outbox_relay;

-- The cleanup locks and deletes rows. Locking needs the right to update a column.
GRANT SELECT, DELETE ON public.outbox, public.outbox_failed TO outbox_cleanup;
GRANT UPDATE (published_at) ON public.outbox TO outbox_cleanup;
GRANT UPDATE (failed_at) ON public.outbox_failed TO outbox_cleanup;
GRANT SELECT ON public.outbox_schema TO outbox_cleanup;

-- The lag function reads.
GRANT SELECT ON public.outbox, public.outbox_failed, public.outbox_paused, public.outbox_schema TO outbox_lag;

-- Operators read everything, move failed events back or discard them, and pause buses.
GRANT SELECT, INSERT ON public.outbox TO outbox_admin;
GRANT SELECT, UPDATE, DELETE ON public.outbox_failed TO outbox_admin;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.outbox_paused TO outbox_admin;
GRANT SELECT ON public.outbox_schema TO outbox_admin;
