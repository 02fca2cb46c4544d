import type { Queryable } from '../../pool';

/** What the database's `submit` tells at the commit: in which schema, and of which target. */

/** The channel, for all schemas of a database. */
export const SUBMITTED = 'muster_submitted';

/** Makes a session hear of submits, until it ends. */
export const listenForSubmitted = async (session: Queryable): Promise<void> => {
  await session.query({ text: `listen ${SUBMITTED}` });
};

/** Returns the target of a message; null: it is of another schema. */
export const submittedTarget = (message: string, schema: string): number | null => {
  const [of, id] = message.split(' ');
  return of === schema && /^\d+$/.test(id ?? '') ? Number(id) : null;
};
