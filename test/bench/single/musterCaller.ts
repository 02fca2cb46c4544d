import type { Client } from '../../../client';
import { createClient } from '../../../client';
import { benchHandler, HANDLER, PREFIX } from '../muster/musterHandler';
import type { HandlerSettings } from '../muster/musterHandler';
import { serve } from '../rig/child';
import type { Calls } from './callers';
import { call } from './callers';

/** Muster's submitting process: the public client, a `submit` for each task. */
let client: Client;

interface Open extends HandlerSettings {
  databaseUrl: string;
  temporalAddress: string;
  connections: number;
}

serve(
  {
    open: ({ databaseUrl, temporalAddress, connections, ...settings }: Open) => {
      client = createClient({
        databaseUrl,
        handlers: [benchHandler(settings)],
        prefix: PREFIX,
        temporal: { address: temporalAddress },
        maxConnections: connections,
        onRingFailure: (error) => process.stderr.write(`ring: ${error.stack}\n`),
      });
    },
    call: (calls: Calls) => call(calls, ({ id, payload }) => client.submit(HANDLER, { id, payload })),
  },
  () => client.close(),
);
