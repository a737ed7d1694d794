-- The version of the tables, the oldest version of the functions that they serve,
-- and whether the outbox itself is not one of them but the application's. Older
-- versions had no columns for the latter two.
SELECT coalesce(max(version), 0)::int AS version,
       coalesce((array_agg((to_jsonb(s) ->> 'serves')::int ORDER BY version DESC))[1], max(version), 0)::int AS serves,
       coalesce(bool_or((to_jsonb(s) ->> 'adopted')::boolean), false) AS adopted
FROM public.outbox_schema AS s
