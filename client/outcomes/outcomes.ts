import type { OutcomePage } from '../../workflows/contracts/outcomes';
import type { Connection } from '../connection';
import type { ListOutcomesOptions } from './list';
import { listOutcomes } from './list';

/** The verbs for what calls and tasks came to: `muster.outcomes`. */
export class Outcomes {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Lists what the workers' calls and tasks came to, per handler and minute, the newest first. Each
   * worker adds its counts every 5 s: they are statistics, of which a crash loses at most those.
   * Ends that clients make without a call are exact, and there within seconds.
   * They are kept for 7 days, unless the workers' `outcomes.keepMs` says otherwise. Throws
   * `NotFoundError` for an unknown handler.
   */
  list(options?: ListOutcomesOptions): Promise<OutcomePage> {
    return listOutcomes(this.connection, options);
  }
}
