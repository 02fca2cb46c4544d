import { boundLog } from '../../handlers/logging/boundLog';
import { RESULT_LIMITS } from '../../handlers/storable';
import type { Handler } from '../../handlers/types';
import type { Batch, CallContext, CallLog } from '../../handlers/contract';
import type { Fence } from '../../postgres/calls/mark';
import { insertResultPage } from '../../postgres/calls/records';
import { withRetries } from '../../postgres/errors';
import { partitionName } from '../../postgres/nodes/partition';
import { ResultPages } from './resultPages';
import type { Call } from './call';
import type { CallerDeps, Carried } from './carried';

/** Builds what a handler is given to make a call: the batch, and what comes with it. */

export const toCall = (
  deps: Pick<CallerDeps, 'handler' | 'home'>,
  carried: Omit<Carried, 'markedAtMs' | 'fence'> & { markedAtMs?: number; fence?: Fence | null },
): Call => {
  const firstCallAtMs = carried.batch.firstCallAtMs ?? carried.markedAtMs ?? performance.now();
  const call: Call = {
    batch: carried.batch,
    handler: deps.handler,
    home: deps.home,
    members: carried.members,
    attempt: carried.attempt,
    firstCallAtMs,
    calledAtMs: carried.markedAtMs ?? carried.batch.lastCallAtMs ?? firstCallAtMs,
    fence: carried.fence ?? null,
    dependsOn: carried.dependsOn ?? [],
    pages: undefined as never,
    absent: false,
  };
  call.pages = newPages(call);
  return call;
};

/**
 * Tries of a page that is written while the answer is read, over about 10 s: what was read cannot
 * be read again.
 */
const PAGE_TRIES = 9;

export const newPages = (call: Call): ResultPages => {
  const { pool, sealer } = call.home;
  return new ResultPages(
    call.batch.id,
    call.attempt,
    (page) => withRetries(() => insertResultPage(pool, page), PAGE_TRIES),
    RESULT_LIMITS,
    sealer === null ? null : { sealer, idOf: (index) => call.members[index]!.id },
  );
};

export const toBatch = (handler: Handler, call: Call): Batch => ({
  id: String(call.batch.id),
  handler: handler.name,
  target: call.batch.target,
  tasks: call.members.map((member) => ({
    id: member.id,
    payload: JSON.parse(member.payload) as unknown,
    attempts: member.attempts,
  })),
  epoch: call.batch.epoch,
  attempt: call.attempt,
  ...(call.fence === null ? {} : { partition: { id: partitionName(call.fence.id), epoch: call.fence.epoch } }),
  ...(call.dependsOn.length === 0 ? {} : { dependsOn: call.dependsOn }),
});

/**
 * Returns how long an accepted batch may stay open at the downstream without another call: until
 * its deadline, and in a lane until the last one.
 */
const openMs = ({ poll, ordered, lane, timeoutMs }: Handler): number =>
  timeoutMs + poll.deadlineMs * (ordered ? lane.deadlines : 1);

/** Returns a logger whose lines say which call they are of. */
export const logOf = (log: CallLog, { batch: { id, handler, target }, attempt }: Call): CallLog =>
  boundLog(log, { handler, target, batch: id, attempt });

export const contextOf = (
  deps: CallerDeps,
  call: Call,
  { traceparent }: Pick<CallContext, 'traceparent'> = {},
): CallContext => ({
  signal: deps.signal,
  log: logOf(deps.log, call),
  idempotencyKey: call.batch.idempotencyKey,
  deadline: Date.now() + deps.handler.timeoutMs,
  ...(deps.callbackUrl === undefined ? {} : { callbackUrl: deps.callbackUrl(call.batch, openMs(deps.handler)) }),
  ...(call.fence === null ? {} : { partition: deps.partitions.checkpoints.inHand(call.fence) }),
  ...(traceparent === undefined ? {} : { traceparent }),
});
