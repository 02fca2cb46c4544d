import { numberFlag, processFlags, textFlag } from '../support/flags';
import { runMain } from '../support/server';
import { runWorker } from '../support/worker';

/** A Muster worker without handlers: it delivers the message of the completion, and sweeps. */
const flags = processFlags({ temporal: textFlag('localhost:7233'), 'grace-ms': numberFlag(2_000) });

runMain(() =>
  runWorker(null, {
    temporal: flags.temporal,
    graceMs: flags['grace-ms'],
    callbacks: { allow: ['127.0.0.1'], secret: process.env['WEBHOOK_SECRET'] ?? null },
  }),
);
