import type { Queryable } from './pool';

/** A short name of this store, the same for ever: part of every idempotency key. */
export const readInstallation = async (db: Queryable): Promise<string> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'read-installation',
    text: 'select id::text as id from installation',
  });
  return rows[0]!.id.replaceAll('-', '').slice(0, 12);
};
