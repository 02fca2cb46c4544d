-- Up Migration

-- How late the Temporal server fires timers at most, in milliseconds, as the node measured it at its start; null: it did
-- not, since another one was measuring, or it is a version that does not write it.
alter table node add column timers_late_ms integer;

-- As before, but for what its refusal of a handler with lanes tells the caller to do.
create or replace function check_task(
  h handler,
  payload jsonb,
  target text,
  not_before timestamptz,
  priority int,
  weight float8,
  bytes int,
  distinct_key text) returns void language plpgsql as $$
declare
  size constant bigint := octet_length(payload::text);
  heaviest constant float8 := least(h.max_weight, h.weight_per_target, h.weight_per_handler);
begin
  if h.max_payload_bytes is null then
    perform refuse_task('INVALID_HANDLER', format('handler: "%s" was registered by an older version', h.name),
      'Start a worker of this version with this handler.', '55000');
  elsif h.ordered then
    perform refuse_task('INVALID_HANDLER', format('handler: expected one without lanes, got "%s"', h.name),
      'Submit by the client library or the HTTP API, which compute lanes and keys by the handler''s code; from SQL write a row '
      'of your own, which a program submits by the client.', '0A000');
  elsif payload is null then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected JSON, got null of SQL',
      'Give the payload; null of JSON is ''null''::jsonb.');
  elsif size > h.max_payload_bytes then
    perform refuse_task('PAYLOAD_TOO_LARGE',
      format('payload: expected at most %s bytes of JSON, got %s', h.max_payload_bytes, size),
      'Store it elsewhere and submit a reference, or raise maxPayloadBytes.', '54000');
  elsif size > 100 and jsonb_path_exists(payload,
      'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected at most 100 levels of arrays and objects, got more',
      'Flatten it, or submit the deep part as text.', '54000');
  elsif jsonb_typeof(payload) = 'object' and payload ? '$codec' then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected no field "$codec", got one',
      'Rename it: that is the form of encoded values.');
  elsif priority is null or priority not between -32768 and 32767 then
    perform refuse_task('INVALID_PRIORITY',
      format('priority: expected a whole number of -32768..32767, got %s', coalesce(priority::text, 'null')),
      'Lower numbers go first; leave it out for 0.');
  elsif not_before not between '1970-01-01 00:00Z' and '9999-12-31 00:00Z' then
    perform refuse_task('INVALID_TIME', format('not_before: expected a time from 1970 to 9999, got %s', not_before),
      'Leave it out for at once.');
  elsif bytes < 0 then
    perform refuse_task('INVALID_PAYLOAD', format('bytes: expected a number of at least 0, got %s', bytes),
      'Leave it out to count those of the payload.');
  elsif bytes::bigint + h.overhead_bytes > h.max_bytes then
    perform refuse_task('TASK_TOO_LARGE',
      format('payload: expected a task that fits into one call of %s bytes, got %s + %s overhead', h.max_bytes, bytes,
        h.overhead_bytes), 'Make it smaller, or raise the handler''s limits.maxBytes.', '54000');
  elsif weight is null or not (weight >= 0 and weight < 'infinity') then
    perform refuse_task('INVALID_PAYLOAD',
      format('weight: expected a number of at least 0, got %s', coalesce(weight::text, 'null')),
      'Leave it out for 1.');
  elsif weight > heaviest then
    perform refuse_task('TASK_TOO_HEAVY', format('weight: expected at most %s, got %s', heaviest, weight),
      'Make it lighter, or raise the handler''s limits.', '54000');
  elsif distinct_key is not null and not (h.keyed or h.coalesces) then
    perform refuse_task('INVALID_KEY',
      format('distinct_key: expected none, since handler "%s" has no distinctBy, got one', h.name), 'Leave it out.');
  end if;
  if h.keyed or h.coalesces then
    perform check_text('distinct_key', 'INVALID_KEY', distinct_key, 512);
  end if;
end $$;

-- Down Migration

create or replace function check_task(
  h handler,
  payload jsonb,
  target text,
  not_before timestamptz,
  priority int,
  weight float8,
  bytes int,
  distinct_key text) returns void language plpgsql as $$
declare
  size constant bigint := octet_length(payload::text);
  heaviest constant float8 := least(h.max_weight, h.weight_per_target, h.weight_per_handler);
begin
  if h.max_payload_bytes is null then
    perform refuse_task('INVALID_HANDLER', format('handler: "%s" was registered by an older version', h.name),
      'Start a worker of this version with this handler.', '55000');
  elsif h.ordered then
    perform refuse_task('INVALID_HANDLER', format('handler: expected one without lanes, got "%s"', h.name),
      'Submit to a lane by the client library or the HTTP API.', '0A000');
  elsif payload is null then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected JSON, got null of SQL',
      'Give the payload; null of JSON is ''null''::jsonb.');
  elsif size > h.max_payload_bytes then
    perform refuse_task('PAYLOAD_TOO_LARGE',
      format('payload: expected at most %s bytes of JSON, got %s', h.max_payload_bytes, size),
      'Store it elsewhere and submit a reference, or raise maxPayloadBytes.', '54000');
  elsif size > 100 and jsonb_path_exists(payload,
      'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected at most 100 levels of arrays and objects, got more',
      'Flatten it, or submit the deep part as text.', '54000');
  elsif jsonb_typeof(payload) = 'object' and payload ? '$codec' then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected no field "$codec", got one',
      'Rename it: that is the form of encoded values.');
  elsif priority is null or priority not between -32768 and 32767 then
    perform refuse_task('INVALID_PRIORITY',
      format('priority: expected a whole number of -32768..32767, got %s', coalesce(priority::text, 'null')),
      'Lower numbers go first; leave it out for 0.');
  elsif not_before not between '1970-01-01 00:00Z' and '9999-12-31 00:00Z' then
    perform refuse_task('INVALID_TIME', format('not_before: expected a time from 1970 to 9999, got %s', not_before),
      'Leave it out for at once.');
  elsif bytes < 0 then
    perform refuse_task('INVALID_PAYLOAD', format('bytes: expected a number of at least 0, got %s', bytes),
      'Leave it out to count those of the payload.');
  elsif bytes::bigint + h.overhead_bytes > h.max_bytes then
    perform refuse_task('TASK_TOO_LARGE',
      format('payload: expected a task that fits into one call of %s bytes, got %s + %s overhead', h.max_bytes, bytes,
        h.overhead_bytes), 'Make it smaller, or raise the handler''s limits.maxBytes.', '54000');
  elsif weight is null or not (weight >= 0 and weight < 'infinity') then
    perform refuse_task('INVALID_PAYLOAD',
      format('weight: expected a number of at least 0, got %s', coalesce(weight::text, 'null')),
      'Leave it out for 1.');
  elsif weight > heaviest then
    perform refuse_task('TASK_TOO_HEAVY', format('weight: expected at most %s, got %s', heaviest, weight),
      'Make it lighter, or raise the handler''s limits.', '54000');
  elsif distinct_key is not null and not (h.keyed or h.coalesces) then
    perform refuse_task('INVALID_KEY',
      format('distinct_key: expected none, since handler "%s" has no distinctBy, got one', h.name), 'Leave it out.');
  end if;
  if h.keyed or h.coalesces then
    perform check_text('distinct_key', 'INVALID_KEY', distinct_key, 512);
  end if;
end $$;
alter table node drop column timers_late_ms;
