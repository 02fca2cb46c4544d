import { readNodes } from '../postgres/nodeView';
import type { Pool } from '../postgres/pool';
import { NODE_LIVE_MS } from './context';
import type { NodeView } from './views';

/** The worker processes of this installation, by id; those that were not seen for an hour are gone. */
export const nodes = async (pool: Pool): Promise<NodeView[]> =>
  (await readNodes(pool)).map(({ startedAt, seenMsAgo, ...node }) => ({
    ...node,
    startedAt: startedAt.toISOString(),
    seenMsAgo: Math.round(seenMsAgo),
    live: !node.draining && seenMsAgo <= NODE_LIVE_MS,
  }));
