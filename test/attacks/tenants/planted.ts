import { defineHandler } from '../../../handlers';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import { insertNotifications } from '../../../postgres/calls/records';
import { registerHandler } from '../../../postgres/grouping/handler';
import { registerShare } from '../../../postgres/limits/shared';
import { touchNode } from '../../../postgres/nodes/node';
import type { Pool } from '../../../postgres/pool';
import type { Place } from '../../api/world';

/** Things that no caller makes, and that are no tenant's: workers and deliveries bring them. */

export const NODE = 'n';
export const PLACED = 'placed';
export const SHARED_LIMIT = 'key';
/** A lane of the handler `lane`, and of no tenant. */
export const COMMON_LANE = 'common';

/** Has a partition. */
export const placed = defineHandler<Place>({
  name: PLACED,
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  affinity: { partitions: 1 },
  submit: async () => ({ results: [] }),
});

/**
 * Plants a node, a partition, a limit that the handler `items` shares, and a callback of that
 * handler which was given up. Returns the callback's number.
 */
export const plant = async (pool: Pool): Promise<number> => {
  await registerHandler(pool, placed);
  await touchNode(pool, { id: NODE, taskQueue: 'q', handlers: [PLACED], version: '1', draining: false });
  await registerShare(pool, 'items', { name: SHARED_LIMIT, rates: [], concurrency: 8 });
  const recipient = await registerRecipient(pool, 'webhook', { url: 'https://hooks.example.com/' });
  const tasks = [{ id: 'rival/1', state: 'failed' as const }];
  const body = { handler: 'items', target: 'rival/x', batch: null, tasks };
  await insertNotifications(pool, [{ batch_id: null, attempt: null, recipient_id: recipient, body }]);
  const { rows } = await pool.query<{ id: number }>(
    `update notification set attempts = 1, error = 'refused', done_at = clock(), next_at = null returning id`,
  );
  return rows[0]!.id;
};
