-- What is known of the roles and of their grants.
--
-- $1 text   the outbox, quoted as in SQL
-- $2 text[] the roles
--
-- Grants are made together, so where none of the roles has any right on the
-- outbox they were not made, whatever roles there are: those belong to the server.
SELECT array(SELECT rolname::text FROM pg_roles WHERE rolname = ANY ($2::text[]) ORDER BY rolname) AS roles,
       NOT EXISTS (
           SELECT
           FROM pg_class AS c,
                LATERAL aclexplode(c.relacl) AS a
           JOIN pg_roles AS r ON r.oid = a.grantee
           WHERE c.oid = $1::text::regclass
             AND r.rolname = ANY ($2::text[])
       ) AS ungranted
