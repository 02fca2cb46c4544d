import type { Queryable } from '../../pool';

/** What the database's `submit` tells at the commit: in which schema, and of which target. */

/** The channel, for all schemas of a database. */
export const SUBMITTED = 'muster_submitted';

/** Makes a session hear of submits, until it ends. */
export const listenForSubmitted = async (session: Queryable): Promise<void> => {
  await session.query({ text: `listen ${SUBMITTED}` });
};

/** A task that was stored, and what is to be done for it. */
export interface Submitted {
  targetId: number;
  /** What it depends on has ended, at least in part: dependents are released, or fail. */
  hasEnded: boolean;
}

/**
 * Returns what a message tells; null: it is of another schema. Versions before read the target
 * alone.
 */
export const readSubmitted = (message: string, schema: string): Submitted | null => {
  const [of, id, more] = message.split(' ');
  return of === schema && /^\d+$/.test(id ?? '') ? { targetId: Number(id), hasEnded: more === 'ended' } : null;
};
