import type { LaneRules } from '../../activities/handlers';
import { numberFlag, processFlags, textFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';
import { ledgerHandler } from './handler';

/** A worker process of the example, with every setting from `run.ts`. */
const flags = processFlags({
  temporal: textFlag('localhost:7233'),
  'ledger-url': textFlag('http://127.0.0.1:4466'),
  approach: textFlag('serial'),
  'grace-ms': numberFlag(5_000),
});

runMain(() =>
  runWorker(ledgerHandler({ url: flags['ledger-url'], approach: flags.approach as LaneRules['approach'] }), {
    temporal: flags.temporal,
    graceMs: flags['grace-ms'],
  }),
);
