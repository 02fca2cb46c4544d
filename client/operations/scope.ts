import { findHandler } from '../../postgres/grouping/handler';
import { targetIds } from '../../postgres/grouping/target';
import { checkName } from '../arguments';
import type { ClientContext } from '../context';
import { NotFoundError } from '../errors';

export interface Scope {
  handlerId: number;
  /** Null: all targets. */
  target: string | null;
  targetId: number | null;
}

/**
 * Finds a handler in the store, and one of its targets if it is given.
 *
 * @throws NotFoundError that names what is missing.
 */
export const findScope = async (client: ClientContext, handler: string, target?: string): Promise<Scope> => {
  checkName('handler', handler);
  if (target !== undefined) checkName('target', target);
  await client.ready();
  const row = await findHandler(client.pool, handler);
  if (row === null)
    throw new NotFoundError(
      'handler',
      handler,
      'A handler is known once a worker has started with it or a task was submitted to it.',
    );
  if (target === undefined) return { handlerId: row.id, target: null, targetId: null };
  const [targetId] = await targetIds(client.pool, handler, target);
  if (targetId === undefined)
    throw new NotFoundError(
      'target',
      target,
      'A target is known once a task has been submitted for it.',
      `handler "${handler}"`,
    );
  return { handlerId: row.id, target, targetId };
};
