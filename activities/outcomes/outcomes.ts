import type { Logger } from 'pino';
import type { CallOutcome, OutcomeMeters } from './meters';
import type { Tally } from './tally';
import type { OutcomesTold, ToldCall } from './told';

type Log = Pick<Logger, 'warn' | 'info' | 'debug'>;

/**
 * Counts and logs what became of calls and tasks: `warn` for a batch of which tasks failed, died or
 * have an unknown outcome, `info` for one that is tried again, `debug` for one that succeeded.
 */
export class Outcomes implements OutcomesTold {
  constructor(
    readonly meters: OutcomeMeters,
    private readonly log: Log,
  ) {}

  called({ batch, members }: ToldCall, outcome: { kind: CallOutcome }, ms: number): void {
    this.meters.called(batch.handler, outcome.kind, ms, members.length);
  }

  settled(call: ToldCall, { written, kind }: { written: boolean; kind: string }, tally: Tally): void {
    if (!written) return; // another attempt has recorded its own
    const { batch, attempt, members } = call;
    this.meters.ended(batch.handler, tally.counts);
    const ends = Object.fromEntries(tally.counts);
    const fields = { handler: batch.handler, target: batch.target, batch: batch.id, attempt, tasks: members.length };
    // With a payload codec the errors are encoded by now.
    if (tally.bad.length > 0)
      this.log.warn({ ...fields, ends, first: tally.bad }, 'tasks failed, died, or have an unknown outcome');
    else if (kind === 'finish' && !tally.counts.has('retried'))
      this.log.debug({ ...fields, ends }, 'a batch has ended');
    else this.log.info({ ...fields, ends, outcome: kind }, 'a batch is tried again, or waits');
  }
}
