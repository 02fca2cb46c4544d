import { choiceFlag, graceFlag, processFlags, temporalFlag, textFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';
import { APPROACHES, ledgerHandler } from './handler';

/** A worker process of the example, with every setting from `run.ts`. */
const flags = processFlags(
  {
    name: 'node dist/examples/ledger/worker.js',
    summary: 'A worker process of the ledger example. The store comes from MUSTER_DATABASE_URL.',
    examples: ['--temporal localhost:7233 --ledger-url http://127.0.0.1:4466 --approach parallel'],
  },
  {
    temporal: temporalFlag(),
    'ledger-url': textFlag('http://127.0.0.1:4466', { text: 'where the ledger is', as: 'url' }),
    approach: choiceFlag(APPROACHES, 'serial', "how a service's batches are sent"),
    'grace-ms': graceFlag(5_000),
  },
);

runMain(() =>
  runWorker(ledgerHandler({ url: flags['ledger-url'], approach: flags.approach }), {
    temporal: flags.temporal,
    graceMs: flags['grace-ms'],
  }),
);
