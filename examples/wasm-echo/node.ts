import { processFlags, temporalFlag, textFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';

/**
 * A node process of the example: runs the modules of a function store, with every setting from
 * `run.ts`.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/wasm-echo/node.js',
    summary: 'A node of the WebAssembly example. The store comes from MUSTER_DATABASE_URL.',
    examples: ['--temporal localhost:7233 --store functions'],
  },
  {
    temporal: temporalFlag(),
    store: textFlag('', { text: 'folder of the function store', as: 'dir' }),
  },
);

runMain(() =>
  runWorker(null, {
    temporal: flags.temporal,
    graceMs: 5_000,
    executions: { serves: true, functionStore: flags.store },
  }),
);
