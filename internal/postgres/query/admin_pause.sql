-- Pauses a bus. One that is paused stays so since then; a reason replaces the
-- one it has.
--
-- $1 text the bus, as in topic; *: all
-- $2 text the reason; empty: none
WITH before AS MATERIALIZED (
    SELECT FROM public.outbox_paused WHERE topic = $1::text
), changed AS (
    INSERT INTO public.outbox_paused AS p (topic, reason)
    VALUES ($1::text, nullif($2::text, ''))
    ON CONFLICT (topic) DO UPDATE SET reason = excluded.reason
    WHERE excluded.reason IS NOT NULL
      AND p.reason IS DISTINCT FROM excluded.reason
    RETURNING p.topic
)
SELECT (SELECT count(*) FROM before), (SELECT count(*) FROM changed)
