import type { Queryable } from './pool';

/** The installation's name as a column of any statement: what `readInstallation` returns. */
export const INSTALLATION = `(select left(replace(id::text, '-', ''), 12) from installation)`;

/** Returns a short name of this store that never changes: it is part of every idempotency key. */
export const readInstallation = async (db: Queryable): Promise<string> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'read-installation',
    text: `select ${INSTALLATION} as id`,
  });
  return rows[0]!.id;
};
