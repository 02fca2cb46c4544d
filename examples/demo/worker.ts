import { graceFlag, processFlags, temporalFlag, textFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';
import { indexCityHandler } from './handler';

/**
 * A worker process of the demo: what `muster worker --config examples/demo/muster.config.ts` runs.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/demo/worker.js',
    summary: 'A worker process of the demo. The store comes from MUSTER_DATABASE_URL.',
    examples: ['--temporal localhost:7233 --index-url http://127.0.0.1:4455'],
  },
  {
    temporal: temporalFlag(),
    'index-url': textFlag('http://127.0.0.1:4455', { text: 'where the bulk index is', as: 'url' }),
    'grace-ms': graceFlag(5_000),
  },
);

runMain(() =>
  runWorker(indexCityHandler({ url: flags['index-url'] }), { temporal: flags.temporal, graceMs: flags['grace-ms'] }),
);
