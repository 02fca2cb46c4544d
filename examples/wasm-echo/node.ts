import { processFlags, textFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';

/** A node process of the example: runs the modules of a function store, with every setting from `run.ts`. */
const flags = processFlags({ temporal: textFlag('localhost:7233'), store: textFlag('') });

runMain(() =>
  runWorker(null, {
    temporal: flags.temporal,
    graceMs: 5_000,
    executions: { serves: true, functionStore: flags.store },
  }),
);
