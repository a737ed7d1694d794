-- The version of the tables.
SELECT coalesce(max(version), 0)::int AS version FROM public.outbox_schema
