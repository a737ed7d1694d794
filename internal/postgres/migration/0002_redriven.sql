-- What became of failed events that were moved back: a line for each time. The
-- next failure of such an event counts on from here.
CREATE TABLE IF NOT EXISTS public.outbox_redriven (
    seq           bigint NOT NULL,
    id            uuid,
    attempts      int NOT NULL,
    failed_at     timestamptz NOT NULL,
    error_code    text NOT NULL,
    error_message text NOT NULL,
    times_failed  int NOT NULL,
    redriven_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (seq, times_failed)
);

COMMENT ON TABLE public.outbox_redriven IS 'Failures of events that were moved back into the outbox, a line for each.';

-- Whether the outbox itself is the application's, and so not ours to change.
ALTER TABLE public.outbox_schema ADD COLUMN IF NOT EXISTS adopted boolean NOT NULL DEFAULT false;
