import pino from 'pino';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import type { NodeSettings } from '../../activities/nodes/settings';
import { Partitions } from '../../activities/nodes/partitions';
import type { Pool } from '../../postgres/pool';

interface Without {
  nodes: NodeSettings;
  partitions: Partitions;
  sealer: null;
  workflowSealer: null;
}

/** For activities of a process that serves no partitions, and encodes nothing. */
export const noPartitions = (pool: Pool, node: string): Without => ({
  sealer: null,
  workflowSealer: null,
  nodes: DEFAULT_NODE_SETTINGS,
  partitions: new Partitions({ pool, node, kept: null, onReleased: () => undefined, log: pino({ level: 'silent' }) }),
});
