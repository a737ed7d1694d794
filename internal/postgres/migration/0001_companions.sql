-- Events that can never be published as they are, with the reason. What is
-- copied from the outbox may be null: that may be why an event has failed.
CREATE TABLE IF NOT EXISTS public.outbox_failed (
    seq            bigint PRIMARY KEY,
    id             uuid,
    aggregate_type text,
    aggregate_id   text,
    event_type     text,
    payload        jsonb,
    headers        jsonb,
    source         text,
    topic          text,
    created_at     timestamptz,
    deliver_after  timestamptz,
    retry_at       timestamptz,
    attempts       int NOT NULL DEFAULT 0,
    last_error     text,
    published_at   timestamptz,
    failed_at      timestamptz NOT NULL DEFAULT now(),
    error_code     text NOT NULL,
    error_message  text NOT NULL,
    times_failed   int NOT NULL DEFAULT 1
);

COMMENT ON TABLE public.outbox_failed IS 'Events that could not be published, with the reason; redrive moves them back.';

-- Buses that the relay leaves alone; topic * means all of them.
CREATE TABLE IF NOT EXISTS public.outbox_paused (
    topic  text PRIMARY KEY,
    reason text,
    since  timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE public.outbox_paused IS 'Buses that the relay leaves alone; topic * means all.';

-- The version of these tables.
CREATE TABLE IF NOT EXISTS public.outbox_schema (
    version    int PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE public.outbox_schema IS 'Migrations applied to the tables of the outbox.';
