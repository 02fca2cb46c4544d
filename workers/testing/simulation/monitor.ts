import type { CompletionEnd } from '../../../activities/accepted/complete';
import { completeAccepted } from '../../../activities/accepted/complete';
import type { Completion } from '../../../activities/accepted/completion';
import { Conclusions } from '../../../activities/accepted/conclusions';
import { PollRun } from '../../../activities/accepted/poll';
import type { Homes } from '../../../activities/shared';
import type { ActivityDeps } from '../../../activities/deps';
import { workOffEnded } from '../../../activities/grouping/dependents';
import type { CallLog } from '../../../handlers/contract';
import type { Handler } from '../../../handlers/types';
import type { Pool } from '../../../postgres/pool';
import { nextPollMs } from './acceptedStatements';
import type { Tables } from './tables';

/** A look of a simulated world needs no sign: nothing watches it. */
const UNSIGNED = { beat: () => undefined, give: () => undefined };

/**
 * Asks for the status of the batches that a simulated downstream has accepted, and concludes them:
 * the product's own look, on a store in memory. It takes no time.
 */
export class Monitor {
  private readonly deps: ActivityDeps;
  private readonly signal = new AbortController().signal;

  constructor(
    private readonly tables: Tables,
    private readonly handler: Handler,
    private readonly pool: Pool,
    homes: Homes,
    log: CallLog,
  ) {
    // What a look uses of what a worker has. Nothing is rung: the world looks at all that is due.
    this.deps = {
      ...{ pool, sealer: null, homes, draining: this.signal },
      log,
    } as unknown as ActivityDeps;
  }

  /** Returns when the next look is due, as Unix ms; Infinity: none is. */
  nextAtMs(): number {
    return nextPollMs(this.tables);
  }

  async look(): Promise<void> {
    const conclusions = new Conclusions(this.deps, this.handler, this.signal);
    await new PollRun(this.deps, this.handler, conclusions, UNSIGNED, this.signal, -1).run();
    await conclusions.end();
    this.tables.handler.blockedUntilMs = null;
  }

  /** Takes a completion from outside. */
  async complete(completion: Completion): Promise<CompletionEnd> {
    const end = await completeAccepted(this.deps, this.handler, completion);
    await workOffEnded(this.pool);
    this.tables.handler.blockedUntilMs = null;
    return end;
  }
}
