import type { Logger } from 'pino';
import type { CountedOutcome } from '../../workflows/planning/outcomes/kinds';
import type { OutcomeMeters } from './meters';
import { OutcomeMinutes } from './minutes';
import type { Tally } from './tally';
import type { FailedUnsent, OutcomesTold, ToldCall } from './told';

type Log = Pick<Logger, 'warn' | 'info' | 'debug'>;

const UNSENT: Readonly<Record<FailedUnsent['why'], string>> = {
  expired: 'they were still waiting when their expiresAt had passed',
  task: 'a task that they depend on did not succeed',
  batch: 'a batch that theirs depends on was not applied',
};

/**
 * Counts and logs what became of calls and tasks: `warn` for a batch of which tasks failed, died or
 * have an unknown outcome, `info` for one that is tried again, `debug` for one that succeeded.
 */
export class Outcomes implements OutcomesTold {
  readonly minutes = new OutcomeMinutes();

  constructor(
    readonly meters: OutcomeMeters,
    private readonly log: Log,
  ) {}

  called({ batch, attempt, members }: ToldCall, { kind: outcome }: { kind: CountedOutcome }, ms: number): void {
    const { handler } = batch;
    this.meters.called(handler, outcome, ms, members.length);
    this.minutes.called({ handler, outcome, ms, tasks: members.length, reason: attempt === 1 ? batch.reason : null });
  }

  settled(call: ToldCall, { written, kind }: { written: boolean; kind: string }, tally: Tally): void {
    if (!written) return; // another attempt has recorded its own
    const { batch, attempt, members } = call;
    this.meters.ended(batch.handler, tally.counts);
    this.minutes.ended(batch.handler, tally.counts);
    const ends = Object.fromEntries(tally.counts);
    const fields = { handler: batch.handler, target: batch.target, batch: batch.id, attempt, tasks: members.length };
    // With a payload codec the errors are encoded by now.
    if (tally.bad.length > 0)
      this.log.warn({ ...fields, ends, first: tally.bad }, 'tasks failed, died, or have an unknown outcome');
    else if (kind === 'finish' && !tally.counts.has('retried'))
      this.log.debug({ ...fields, ends }, 'a batch has ended');
    else this.log.info({ ...fields, ends, outcome: kind }, 'a batch is tried again, or waits');
  }

  superseded(handler: string, tasks: number): void {
    const counts = new Map([['cancelled', tasks]] as const);
    this.meters.ended(handler, counts);
    this.minutes.ended(handler, counts);
    this.log.debug({ handler, tasks }, 'tasks ended unsent: a later one of their coalesceBy key is sent');
  }

  failedUnsent({ handler, why, ...fields }: FailedUnsent): void {
    const counts = new Map([['failed', fields.tasks]] as const);
    this.meters.ended(handler, counts);
    // The others are noted in the store, by the transactions that end them.
    if (why === 'batch') this.minutes.ended(handler, counts);
    this.log.warn({ handler, ...fields }, `tasks failed unsent: ${UNSENT[why]}`);
  }
}
