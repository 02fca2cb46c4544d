import { readBulk, stopBulk } from '../../postgres/bulk/action';
import { withRetries } from '../../postgres/errors';
import type { BulkDryRun, BulkPage, BulkView } from '../../workflows/contracts/bulk';
import { toStorable } from '../../handlers/storable';
import type { Connection } from '../connection';
import { NotFoundError } from '../errors';
import { scopeText, shortText } from '../operations/auditLog';
import { CHANGE } from '../tasks/failureTexts';
import { checkBulkId } from './check';
import type { BulkDeed, BulkInput, BulkStart } from './input';
import { dryRunBulk } from './dryRun';
import type { ListBulkOptions } from './list';
import { listBulk } from './list';
import { startBulk } from './start';
import { toBulkView } from './stored';

/** The verbs for bulk actions: `muster.bulk`. */
export class Bulk {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Starts a bulk action: does the same to all tasks of a handler that match a filter now. The
   * workers make it in steps of at most 500 tasks, through crashes; `get` shows how far it is, and
   * `stop` ends it. A task that has left the state when its turn comes is skipped; none is changed
   * twice, and none that was accepted, or got into the state, after the start. Throws
   * `NotFoundError` for an unknown handler or target, and `InvalidArgumentError`.
   */
  start(input: BulkStart): Promise<BulkView> {
    const { connection } = this;
    const subject = scopeText(input?.handler, input?.where?.target);
    const act = { verb: `bulk ${String(input?.action?.do)}`, subject, detail: shown(connection, input ?? {}) };
    return connection.steer(CHANGE, act, () => startBulk(connection, input));
  }

  /**
   * Counts the tasks that a bulk action would change now, for at most 10 s, and returns the first
   * 10 of them, without those that are as wanted already: of payloads only where the client has the
   * handler. Changes nothing. Throws as `start` does.
   */
  dryRun(input: BulkInput): Promise<BulkDryRun> {
    return dryRunBulk(this.connection, input);
  }

  /** Returns a bulk action as it is now; null: there is none, or it ended more than 30 days ago. */
  async get(id: string): Promise<BulkView | null> {
    const { pool } = this.connection;
    checkBulkId(id);
    await this.connection.ready();
    const row = await withRetries(() => readBulk(pool, id));
    return row === null ? null : toBulkView(row);
  }

  /**
   * Lists bulk actions, the newest first. Throws `NotFoundError` for an unknown handler.
   */
  list(options?: ListBulkOptions): Promise<BulkPage> {
    return listBulk(this.connection, options);
  }

  /**
   * Stops a bulk action: when this resolves, it changes no further task. What it has changed stays
   * so. One that has ended stays as it is. Throws `NotFoundError` for an unknown id.
   */
  stop(id: string): Promise<BulkView> {
    const { connection } = this;
    return connection.steer(CHANGE, { verb: 'stop', subject: `bulk action ${String(id)}` }, async () => {
      checkBulkId(id);
      await connection.ready();
      await withRetries(() => stopBulk(connection.pool, id));
      const row = await readBulk(connection.pool, id);
      if (row === null) throw new NotFoundError('bulk action', id, 'It was never started, or it was deleted.');
      return toBulkView(row);
    });
  }
}

/** What is no object is refused when it is checked. */
const isObject = <T>(value: T): value is T & object => typeof value === 'object' && value !== null;

/** What the audit shows of it: with a codec not what may stand in an error or a result. */
const shown = ({ sealer }: Connection, { id, where, action, limit }: Partial<BulkStart>): object => {
  if (!isObject(action)) return { id, where, action, limit };
  if (sealer?.sealsTexts !== true) return { id, where, action: shortened(action), limit };
  const { error: _error, errorCode: _code, errorGroup: _group, ...rest } = where ?? {};
  return { id, where: rest, action: plainOf(action), limit };
};

/** An action whose patch leaves room in an entry for the rest. */
const shortened = (action: BulkDeed): object => {
  if (action.do !== 'update' || !isObject(action.payloadPatch)) return action;
  const text = toStorable(action.payloadPatch)?.json ?? '';
  return text === shortText(text) ? action : { ...action, payloadPatch: shortText(text) };
};

/** What an action does without what is its callers': results, and parts of payloads. */
const plainOf = (action: BulkDeed): object => {
  if (action.do === 'resolve') return { do: action.do, as: action.as };
  if (action.do !== 'update') return action;
  const { payloadPatch, ...rest } = action;
  return payloadPatch === undefined ? rest : { ...rest, payloadPatch: '(encoded)' };
};
