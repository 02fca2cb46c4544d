import type { BulkView, Client } from '../../../client';
import { createClient } from '../../../client';
import type { Handler } from '../../../handlers';
import { NO_TEMPORAL } from '../../helpers/database';
import type { Shop } from '../shop';
import { made } from './made';

/** Changes payloads, all of the handler's or those that `where` names, as a worker does. */
export const patched = (
  { client, handler }: { client: Client; handler: Handler },
  payloadPatch: Readonly<Record<string, unknown>>,
  where: object = {},
): Promise<BulkView> => made(client, { handler: 'items', where, action: { do: 'update', payloadPatch } }, handler);

export const payloadsOf = async (client: Client, ...ids: string[]): Promise<unknown[]> =>
  (await client.getTasks(ids)).map(({ payload }) => payload);

/** Bytes and weight of a task, and of where it waits. */
export const rowsOf = async ({ pool }: Shop, id: string): Promise<object[]> =>
  (
    await pool.query<object>(
      `
select w.bytes, w.weight
from task k join (
  select seq, bytes, weight from task union all select seq, bytes, weight from queue
  union all select seq, bytes, weight from delayed) w using (seq)
where k.id = $1`,
      [id],
    )
  ).rows;

/** A client of the shop that encodes. */
export const encoding = (shop: Shop, options: Partial<Parameters<typeof createClient>[0]>): Client =>
  createClient({
    databaseUrl: shop.database.url,
    handlers: [shop.handler],
    prefix: shop.client.prefix,
    temporal: NO_TEMPORAL,
    ...options,
  });

/** Takes away what `cut` put into batches, so that the store is whole. */
export const forget = async ({ pool }: Shop, ...ids: string[]): Promise<void> => {
  await pool.query('delete from member; delete from batch; delete from dispatch');
  await pool.query('delete from task where id = any($1)', [ids]);
  await pool.query('update leader set state = 0, expires_at = null, wake_at = null');
};
