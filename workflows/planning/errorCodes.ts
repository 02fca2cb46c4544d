/**
 * Lists every error code of the client library, the HTTP API and the command line, with its meaning
 * and remedy. A code is part of the API: its meaning never changes. docs/reference/errors.md is
 * generated from this table.
 */
export const ERROR_CODES = {
  // The input was refused: nothing was done.
  ANSWER_TOO_LARGE: ['What a request asks for exceeds the largest answer, 16 MB.', 'Ask for fewer ids per request.'],
  ASYNC_SCHEMA: [
    'A handler’s schema has an asynchronous refinement or transform.',
    'Make it synchronous, or move the check before the submit or into the handler.',
  ],
  BATCH_TOO_LARGE: ['A lane batch exceeds a limit of its handler.', 'Split it: the parts keep their order.'],
  BODY_TOO_LARGE: ['A request body exceeds `api.maxBodyBytes`.', 'Send less per request.'],
  ID_CONFLICT: [
    'The id was used before with different content.',
    'Choose another id. Repeating the same content is harmless.',
  ],
  INDEX_PAST_END: ['An item id names an index past the end of its segment.', 'Use the ids that `addItems` returned.'],
  INVALID_ARGUMENT: ['An argument has the wrong type, range or form.', 'Read the message: it names the argument.'],
  INVALID_CALLBACK: ['The callback of a task is neither a URL nor a workflow id.', 'Pass `{url}` or `{workflowId}`.'],
  INVALID_COMPLETION: ['A completion does not fit its batch.', 'Correct the field that the message names.'],
  INVALID_CONFIG: ['A handler or function of the config file is wrong.', 'Correct what the message names.'],
  INVALID_DATABASE_URL: [
    'The database URL leads through a pooler, and migrations need a dedicated session.',
    'Give the URL of the server itself.',
  ],
  INVALID_DEPENDENCY: [
    'A task or lane batch depends on itself, on a later one, on one that does not exist, or in a cycle.',
    'Read the message: it names the dependency.',
  ],
  INVALID_FILE: ['A file cannot be read.', 'Give the path of a readable file, or `-` for standard input.'],
  INVALID_HANDLER: ['The handler does not support the requested operation.', 'Read the message: it names the setting.'],
  INVALID_ID: ['An id is empty, too long, or not storable text.', 'Use 1 to 256 bytes of text.'],
  INVALID_INPUT: [
    'A line of a file does not have the form that the command expects.',
    'Correct the line that the message names.',
  ],
  INVALID_ITEM: [
    'Some ids of an acknowledgement name no item, or one that can no longer change.',
    'Correct the ids that the error lists.',
  ],
  INVALID_JSON: ['Text that should be JSON is not.', 'Write one JSON value per line.'],
  INVALID_KEY: [
    '`distinctBy` or `coalesceBy` returned a key that cannot be stored.',
    'Return short text from `distinctBy` or `coalesceBy`.',
  ],
  INVALID_LINES: ['Lines of an argument file are wrong.', 'Correct the line that the message names.'],
  INVALID_METADATA: [
    'The metadata of a task is no small object of texts.',
    'Pass texts by name, at most 4,096 bytes of JSON together.',
  ],
  INVALID_NODE: ['The node lacks the handler or attributes that the partition requires.', 'Choose another node.'],
  INVALID_ORDERING: [
    '`priority` or `notBefore` was given for a task in a lane.',
    'Leave it out: a lane has one order.',
  ],
  INVALID_PAYLOAD: ['The payload does not fit the handler’s schema, or cannot be stored.', 'Correct the payload.'],
  INVALID_PRIORITY: ['The priority is not a whole number from -32768 to 32767.', 'Lower numbers go first.'],
  INVALID_REQUEST: ['A request does not have the documented form.', 'Compare it with the OpenAPI document.'],
  INVALID_SETTINGS: ['A setting is missing or wrong.', 'Correct the setting that the message names.'],
  INVALID_TAG: ['A tag of a task cannot be stored, or there are more than 10.', 'Use 1 to 100 bytes of text per tag.'],
  INVALID_TARGET: ['The target computed from the payload cannot be stored.', 'Return 1 to 512 bytes of text.'],
  INVALID_TASK: ['A task is not an object with the documented fields.', 'Pass `{id, payload}`.'],
  INVALID_TIME: ['`notBefore` is not a time.', 'Pass an ISO time, a Date, or Unix milliseconds.'],
  INVALID_UTF8: ['A line of a file is not UTF-8.', 'Convert the file.'],
  KEY_CONFLICT: ['Two items of one lane batch have the same `distinctBy` key.', 'Submit them in two batches.'],
  LANE_BUSY: ['The lane has open work of another kind.', 'Wait until the work has ended, then submit again.'],
  LINE_TOO_LONG: ['A line of a file is too long.', 'Split the line.'],
  LOSSY_NUMBER: ['A JSON number would lose digits.', 'Send it as text.'],
  MALFORMED_ID: ['An item id does not have the documented form.', 'Use the ids that `addItems` returned.'],
  NOT_ALLOWED: [
    'A request asks for what the operator allows no caller of the HTTP API.',
    'Read the message: it names the field and the setting.',
  ],
  PACKAGE_MISSING: [
    'A command needs a package that is not installed beside temporal-muster.',
    'Run the npm command that the message names.',
  ],
  PAYLOAD_TOO_LARGE: [
    'The payload exceeds `maxPayloadBytes` of its handler.',
    'Store it elsewhere and send a reference.',
  ],
  TARGET_BUSY: [
    'The target has unordered tasks under way, which a lane could overtake.',
    'Wait until they have ended, or cancel them, then submit again.',
  ],
  TASK_REFUSED: [
    'The hook `taskAccepted` of this installation refuses the tasks.',
    'Read the message: it is the hook’s own.',
  ],
  TASK_TOO_HEAVY: ['The weight of one task exceeds a limit of its handler.', 'Raise the limit, or split the task.'],
  TASK_TOO_LARGE: ['One task does not fit into a call of its handler.', 'Raise `maxBytes`, or split the task.'],
  TOO_MANY_ITEMS: ['A list of a request is too long.', 'Send several requests.'],
  TOO_MANY_VALUES: [
    'A request body has more JSON values and names than `api.maxBodyBytes` allows: one per 8 bytes of it.',
    'Send several requests.',
  ],
  TOO_MANY_TASKS: ['Too many tasks in one call.', 'Send several calls, or pass an async iterable.'],
  UNKNOWN_FANOUT: ['The fan-out of an item id does not exist.', 'Use the ids that `addItems` returned.'],
  UNKNOWN_FIELD: ['A task has a field that is not documented.', 'Remove it, or correct its spelling.'],
  UNKNOWN_HANDLER: ['No handler of this name is configured.', 'Define it in the config file.'],
  UNKNOWN_SEGMENT: ['The fan-out has no such segment.', 'Use the ids that `addItems` returned.'],
  // The state of the object does not allow the operation: nothing was changed.
  BACKLOGGED: ['Too many tasks are waiting already (`maxQueued`).', 'Submit the same ids again later.'],
  QUOTA: [
    'A quota of the tenant is used up; `quota`, `has` and `limit` say which.',
    'Try again when some of its work has ended, or have an operator raise it (`muster tenant set`).',
  ],
  CANCELLED: [
    'The execution was cancelled or given up while its argument lists were being sent.',
    'Start a new execution.',
  ],
  HOOK_FAILED: [
    'The hook `taskAccepted` threw an error that is no refusal, or did not end in time: nothing was accepted.',
    'Read the message; correct the hook, and submit again.',
  ],
  CODEC_FAILED: [
    'The payload codec or the object store does not work, or cannot read a stored value.',
    'Read the message: it has what the codec or the store said. Repeat the call with the same ids.',
  ],
  COMPLETION_STALE: [
    'The batch has ended in another way, or the downstream does not have it.',
    'See `muster batch <id>`.',
  ],
  COMPLETION_TOO_EARLY: [
    'The acceptance of the batch is not stored yet, or the batch is being concluded right now.',
    'Send the completion again after `retryAfterMs`.',
  ],
  FANOUT_COMPLETE: ['The fan-out is complete.', 'Open another.'],
  FANOUT_EXPIRED: ['The fan-out was idle for too long and has expired.', 'Open another.'],
  FANOUT_SEALED: ['The fan-out is sealed: its items are final.', 'Add items before the seal.'],
  NOT_CANCELLABLE: ['The downstream has the batch or may have it, or the batch has ended.', 'See `muster batch <id>`.'],
  NOT_FOUND: ['The object does not exist, or was deleted after its retention period.', 'Check the id.'],
  NOT_HALTED: ['The lane is not halted.', 'See `muster lane <service>`.'],
  OTHER_BATCH_HALTS: [
    'Another batch halts the lane now than the one that was meant.',
    'Look again (`muster lane <service>`), and decide on that batch.',
  ],
  NOT_UNKNOWN: ['The outcome is known: there is nothing to resolve.', 'See `muster explain <task>`.'],
  TIMEOUT: [
    'What was waited for did not end within the timeout. It continues.',
    'Wait again, or see `muster explain <task>`.',
  ],
  // The servers.
  API_REFUSED: [
    'The HTTP API did not take the token, or it is no API of Muster.',
    'Read the message: it names the address, and the variable of the token.',
  ],
  API_UNAVAILABLE: ['The HTTP API cannot be reached.', 'Start `muster api` or `muster dev`, or name another address.'],
  DATABASE_BUSY: [
    'Other transactions held locks, or a statement took too long: nothing was done.',
    'Repeat the call with the same ids.',
  ],
  DATABASE_ERROR: ['Postgres refused a statement.', 'Read the message: it has the SQLSTATE.'],
  DATABASE_UNAVAILABLE: [
    'Postgres cannot be reached, does not answer, or accepts no writes.',
    'Repeat the call with the same ids: the message says whether anything may have been accepted.',
  ],
  SCHEMA_DIFFERS: ['The tables were changed by hand.', 'Restore them as in postgres/schema.sql.'],
  SCHEMA_MISSING: ['The tables do not exist, or are older than this program.', 'Run `npx muster migrate`.'],
  SCHEMA_NEWER: ['The tables are newer than this program.', 'Use a newer Muster.'],
  TEMPORAL_REFUSED: [
    'Temporal refused the credentials or the TLS handshake, or its certificate is not trusted.',
    'Check the API key, TLS and namespace.',
  ],
  TEMPORAL_UNAVAILABLE: ['Temporal cannot be reached.', 'Check TEMPORAL_ADDRESS, and that the server is up.'],
  // The processes.
  DEV_SERVER: ['`muster dev` could not start a server, or lost one.', 'Read the message and the log it names.'],
  INTERNAL: ['An unexpected error: a defect of Muster.', 'Report it with the output of `--debug`.'],
  WORKER_POISONED: [
    'A worker process can no longer run workflows, because it was stopped or starved for too long.',
    'Let the supervisor restart the process: it exits by itself.',
  ],
} as const satisfies Record<string, readonly [meaning: string, remedy: string]>;

export type ErrorCode = keyof typeof ERROR_CODES;
