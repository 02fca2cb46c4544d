-- Up Migration
-- The HTTP API: who may call it, and what was answered to a request that may be repeated.

create table api_token (                             -- the token itself is nowhere: it was shown once
  id int generated always as identity primary key,
  name text not null check (octet_length(name) between 1 and 200),
  hash bytea not null unique check (octet_length(hash) = 32),        -- sha-256 of 256 random bits: nothing to guess, so nothing to slow down
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['submit', 'read', 'admin']),
  created_at timestamptz not null, revoked_at timestamptz);

-- Idempotency-Key: written in the transaction of the effect (or behind an effect that is idempotent by an id made of the key), kept for 24 h.
create table idempotency_key (
  caller int not null,                               -- api_token.id; 0 where no token was asked for
  route text not null, key text not null check (octet_length(key) between 1 and 255),
  request bytea not null check (octet_length(request) = 32),         -- sha-256 of the path and the body
  status smallint not null, answer text not null,
  created_at timestamptz not null, primary key (caller, route, key));
create index idempotency_key_created on idempotency_key (created_at);
