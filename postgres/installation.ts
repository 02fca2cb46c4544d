import type { Queryable } from './pool';

/** As a column of whatever statement: the same name as `readInstallation` answers. */
export const INSTALLATION = `(select left(replace(id::text, '-', ''), 12) from installation)`;

/** A short name of this store, the same for ever: part of every idempotency key. */
export const readInstallation = async (db: Queryable): Promise<string> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'read-installation',
    text: `select ${INSTALLATION} as id`,
  });
  return rows[0]!.id;
};
