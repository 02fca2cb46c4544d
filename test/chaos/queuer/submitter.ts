import { setTimeout as sleep } from 'node:timers/promises';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import { createClient } from '../../../client';
import { createPool } from '../../../postgres/pool';
import { Post, say } from '../post';
import { shortRuns } from '../shortRuns';
import { tapPool } from '../tap';
import { handlerOf, laneHandlers, serviceOf } from './handlers';

/** A client process: submits numbered batches to its own half of the lanes, as far as it is told, and says which were accepted. */

const { name, databaseUrl, address, prefix, runDir, from, settings } = JSON.parse(process.argv[2]!) as {
  name: string;
  databaseUrl: string;
  address: string;
  prefix: string;
  runDir: string;
  /** First number; a restarted one begins with what nobody confirmed. */
  from: number;
  settings: { lanes: number };
};
const CALL = 50;
let until = 0;
let held = 0;
const post = new Post(runDir, (order) => {
  if ('rate' in order) ({ until } = order);
});

/** The n-th batch of this submitter: its lanes in turn, each lane's batches numbered from 0. Those of `a` and `b` lie between each other. */
const batchAt = (i: number) => {
  const [first, half] = name === 'a' ? [0, Math.ceil(settings.lanes / 2)] : [Math.ceil(settings.lanes / 2), Math.floor(settings.lanes / 2)]; // prettier-ignore
  const lane = first + (i % half);
  const n = Math.floor(i / half);
  const service = serviceOf(lane);
  return { handler: handlerOf(lane), service, items: [{ id: `${service}-${n}`, payload: { service, n } }] };
};

const main = async (): Promise<void> => {
  const pool = tapPool(createPool({ databaseUrl, max: 5, applicationName: `chaos submitter ${name}` }), {
    before: async (statement) => {
      if (statement.name === 'mark-lanes-ready' && held > 0 && post.isArmed('client-commit-ring'))
        await post.stay({ point: 'client-commit-ring', live: held });
    },
  });
  const connection = Connection.lazy({ address });
  const temporal = { client: new TemporalClient({ connection, namespace: 'default', interceptors: shortRuns }) };
  const client = createClient({ databaseUrl, handlers: laneHandlers('http://unused', -1), prefix, pool, temporal });
  say({ ready: true });
  for (let next = from; ;) {
    if (next >= until) {
      await sleep(20);
      continue;
    }
    const n = Math.min(CALL, until - next);
    const batches = Array.from({ length: n }, (_, i) => batchAt(next + i));
    held = n;
    for (const handler of new Set(batches.map((batch) => batch.handler)))
      await untilDone(() =>
        client.submitBatches(
          handler,
          batches.filter((batch) => batch.handler === handler),
        ),
      );
    held = 0;
    next += n;
    say({ acked: [next - n, next] });
  }
};

/** The database or its session is away now and then; a repeat of the same ids is the same batches. */
const untilDone = async (work: () => Promise<unknown>): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt === 20) throw error;
      await sleep(200);
    }
  }
};

main().catch((error: unknown) => {
  process.stderr.write(
    `submitter ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
});
