-- The version of the tables, and whether the outbox itself is not one of them but
-- the application's. Version 1 had no column for that.
SELECT coalesce(max(version), 0)::int AS version,
       coalesce(bool_or((to_jsonb(s) ->> 'adopted')::boolean), false) AS adopted
FROM public.outbox_schema AS s
