import type { Queryable } from '../pool';

/**
 * How long a registered recipient of callbacks may be used without being
 * registered again. The same address is one row.
 */
export const RECIPIENT_MS = 300_000;

/**
 * Registers a recipient, again if the last time was `RECIPIENT_MS` ago: one that no row refers to
 * is deleted some time later (`deleteUnusedRecipients`).
 */
export const registerRecipient = async (
  db: Queryable,
  kind: 'workflow' | 'webhook',
  address: object,
): Promise<number> => {
  const values = [kind, JSON.stringify(address)];
  await db.query({
    name: 'register-recipient',
    text: `
insert into recipient (kind, address, used_at) values ($1, $2::jsonb, clock())
on conflict (address) do update set used_at = clock()`,
    values,
  });
  const { rows } = await db.query<{ id: number }>({
    name: 'find-recipient',
    text: 'select id from recipient where kind = $1 and address = $2::jsonb',
    values,
  });
  return rows[0]!.id;
};
