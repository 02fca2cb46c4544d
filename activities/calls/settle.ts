import type { Logger } from 'pino';
import { cutText, describeThrown } from '../../handlers/text';
import { recoverAllowed } from '../../postgres/calls/backPressure';
import { isRefusedValue, withRetries } from '../../postgres/errors';
import { outlast } from '../../postgres/outage';
import { endsOf } from '../hooks/workerHooks';
import { Tally } from '../outcomes/tally';
import type { Call, Settled } from './call';
import { doorOf } from './decide';
import type { CallEnd } from './door';
import { NO_LOOK_UPS } from './door';
import { newPages } from './request';
import { sealOutcome } from '../codec/sealed';

/**
 * Settles a call that this process made, and keeps its outcome while Postgres is away: what the
 * downstream has done is known here only. Without it the batch would wait until its mark has
 * passed, and then be sent again or parked. Throws when `signal` is aborted.
 */
export const settleKept = (
  call: Call,
  outcome: CallEnd,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<Settled> =>
  outlast(() => settle(call, outcome), {
    signal,
    onOutage: (err) =>
      log.warn(
        { err, batch: call.batch.id, attempt: call.attempt },
        "a call's outcome is buffered until Postgres accepts it",
      ),
  });

/**
 * Writes the outcome of a call: the one way for every outcome, of batches in queues and in lanes.
 * An answer that Postgres refuses in spite of all checks ends as unknown, with that as its reason:
 * settling it again and again would keep every batch of its dispatch from ending, and it would be
 * sent again each time.
 */
export const settle = async (call: Call, plain: CallEnd): Promise<Settled> => {
  const { sealer } = call.home;
  const outcome = sealer === null ? plain : await sealOutcome(sealer, plain);
  try {
    return await write(call, outcome);
  } catch (error) {
    if (!isRefusedValue(error) || outcome.kind === 'unknown') throw error;
    call.pages = newPages(call);
    return write(call, {
      kind: 'unknown',
      error: cutText(`the answer cannot be stored: ${describeThrown(error)}`),
    });
  }
};

const write = async (call: Call, outcome: CallEnd): Promise<Settled> => {
  const { home } = call;
  const known = outcome.kind === 'unknown' ? await home.recall(call) : NO_LOOK_UPS;
  const door = doorOf(call, outcome, known);
  switch (door.to) {
    case 'share': {
      const settled = await home.share(call, door.outcome);
      call.tally = new Tally();
      if (door.outcome.kind === 'results') call.tally.count('succeeded', call.members.length);
      home.outcomes?.settled(call, settled, call.tally);
      if (door.outcome.kind !== 'results') return settled;
      if (home.hooks?.observesEnds === true)
        call.ended = [endsOf(call, [...call.members.keys()], [], 'succeeded', null)];
      tellEnds(call, settled);
      await recover(call, settled);
      return settled;
    }
    case 'lookAgain':
      return home.lookAgain(call, door.look);
    case 'conclude': {
      const settled = await home.conclude(call, door);
      home.outcomes?.settled(call, settled, call.tally!);
      tellEnds(call, settled);
      if (door.recovers) await recover(call, settled);
      return settled;
    }
  }
};

/** Tells hooks of the ends that were committed. */
const tellEnds = ({ home, ended }: Call, { written }: Settled): void => {
  if (written && ended !== undefined) home.hooks?.ended(ended);
};

/** Gives back, after a success, what back pressure took. */
const recover = async ({ batch, home }: Call, { written }: Settled): Promise<void> => {
  if (batch.reduced && written) await withRetries(() => recoverAllowed(home.pool, batch));
};
