import { neededTextFlag, graceFlag, numberFlag, processFlags, temporalFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';
import { fleetHandler } from './handler';
import { LEASE_MS, nodeSettings } from './settings';

/**
 * One node of the example: a worker process. SIGUSR2 keeps its event loop busy for `--block-ms`, as
 * a handler that computes would.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/fleet/node.js',
    summary: 'A node of the fleet example. The store comes from MUSTER_DATABASE_URL.',
    examples: ['--temporal localhost:7233 --gate-url http://127.0.0.1:4470 --label n1 --partitions 64'],
  },
  {
    temporal: temporalFlag(),
    'gate-url': neededTextFlag({ text: 'where the gate is', as: 'url' }),
    label: neededTextFlag({ text: 'who it says that it is', as: 'label' }),
    partitions: numberFlag(64, { text: 'partitions of the handler', min: 1, max: 1_024 }),
    'work-ms': numberFlag(300, { text: 'time before a write, half more or less, in milliseconds', unit: 'ms' }),
    'lease-ms': numberFlag(LEASE_MS, {
      text: 'lease of a partition, in milliseconds',
      min: 1_000,
      max: 15_000,
      unit: 'ms',
    }),
    'block-ms': numberFlag(10_000, { text: 'how long SIGUSR2 blocks it, in milliseconds', unit: 'ms' }),
    'grace-ms': graceFlag(3_000),
  },
);

process.on('SIGUSR2', () => {
  const until = performance.now() + flags['block-ms'];
  while (performance.now() < until) Math.sqrt(until);
});

const handler = fleetHandler({
  url: flags['gate-url'],
  partitions: flags.partitions,
  node: flags.label,
  workMs: flags['work-ms'],
});
runMain(() =>
  runWorker(handler, { temporal: flags.temporal, graceMs: flags['grace-ms'], nodes: nodeSettings(flags['lease-ms']) }),
);
