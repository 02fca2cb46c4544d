import type { ErrorList } from '../../workflows/contracts/errors';
import type { Connection } from '../connection';
import type { ListErrorsOptions } from './listErrors';
import { listErrors } from './listErrors';

/** The verbs for errors: `muster.errors`. */
export class Errors {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Counts the errors of tasks that failed, died, are parked or wait for another attempt, and of
   * callbacks that were not delivered, by handler and by what their texts have in common. Reads the
   * newest 10,000 rows of each table at most (1,000 with a payload codec), and says whether that
   * was all. Throws `NotFoundError` for an unknown handler.
   */
  list(options?: ListErrorsOptions): Promise<ErrorList> {
    return listErrors(this.connection, options);
  }
}
