-- An operator mends what failed for its source: AWS keeps the prefix aws. for
-- itself.
UPDATE public.outbox_failed
SET source = 'shop.' || substr(source, length('aws.') + 1)
WHERE source LIKE 'aws.%'
