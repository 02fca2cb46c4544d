import { numberFlag, processFlags, textFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';
import { indexCityHandler } from './handler';

/** A worker process of the demo: what `muster worker --config examples/demo/muster.config.ts` runs. */
const flags = processFlags({
  temporal: textFlag('localhost:7233'),
  'index-url': textFlag('http://127.0.0.1:4455'),
  'grace-ms': numberFlag(5_000),
});

runMain(() =>
  runWorker(indexCityHandler({ url: flags['index-url'] }), { temporal: flags.temporal, graceMs: flags['grace-ms'] }),
);
