-- Whether one of the roles that the grants are for does not exist.
SELECT EXISTS (
    SELECT FROM unnest(ARRAY['writer', 'relay', 'cleanup', 'lag', 'admin']) AS part
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'outbox_' || part)
)
