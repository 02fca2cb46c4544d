import { createClient } from '../../../client';
import type { Client } from '../../../client';
import type { Arrivals } from '../arrive';
import { arrive } from '../arrive';
import { serve } from '../rig/child';
import type { HandlerSettings } from './musterHandler';
import { benchHandler, HANDLER, PREFIX } from './musterHandler';

/**
 * Muster's submitting process: the public client. A ring that fails would show as calls that never
 * come.
 */
let client: Client;

interface Open extends HandlerSettings {
  databaseUrl: string;
  temporalAddress: string;
}

serve(
  {
    open: ({ databaseUrl, temporalAddress, ...settings }: Open) => {
      client = createClient({
        databaseUrl,
        handlers: [benchHandler(settings)],
        prefix: PREFIX,
        temporal: { address: temporalAddress },
        onRingFailure: (error) => process.stderr.write(`ring: ${error.stack}\n`),
      });
    },
    submit: (arrivals: Arrivals) =>
      arrive(arrivals, (tasks) =>
        client.submit(
          HANDLER,
          tasks.map(({ id, payload }) => ({ id, payload })),
        ),
      ),
    flush: () => client.flush(HANDLER),
  },
  () => client.close(),
);
