import { graceFlag, processFlags, temporalFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';

/** A Muster worker without handlers: it delivers the message of the completion, and sweeps. */
const flags = processFlags(
  {
    name: 'node dist/examples/fanout/worker.js',
    summary:
      'A worker of the fan-out example. The store comes from MUSTER_DATABASE_URL, the key of signatures from WEBHOOK_SECRET.',
    examples: ['--temporal localhost:7233'],
  },
  {
    temporal: temporalFlag(),
    'grace-ms': graceFlag(2_000),
  },
);

runMain(() =>
  runWorker(null, {
    temporal: flags.temporal,
    graceMs: flags['grace-ms'],
    callbacks: { allow: ['127.0.0.1:*'], secret: process.env['WEBHOOK_SECRET'] ?? null },
  }),
);
