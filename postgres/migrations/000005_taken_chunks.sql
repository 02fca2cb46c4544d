-- Up Migration

-- Chunks whose lease has passed, for the sweeper.

create index if not exists chunk_taken on chunk (expires_at) where state = 1 /* taken */;

-- Down Migration

drop index chunk_taken;
