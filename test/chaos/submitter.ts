import { setTimeout as sleep } from 'node:timers/promises';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import { createClient } from '../../client';
import { createPool } from '../../postgres/pool';
import { chaosHandlers } from './handlers';
import { handlerOf } from './points';
import { Post, say } from './post';
import { shortRuns } from './shortRuns';
import { tapPool } from './tap';

/** A client process: submits numbered tasks at the rate it is told, in calls of all sizes, and says which were accepted. */

export interface Settings {
  name: string;
  databaseUrl: string;
  address: string;
  prefix: string;
  runDir: string;
  /** First number; a restarted one begins with what nobody confirmed. */
  from: number;
}
const { name, databaseUrl, address, prefix, runDir, from } = JSON.parse(process.argv[2]!) as Settings;

let rate = 0;
let until = 0;
let held = 0;
const post = new Post(runDir, (order) => {
  if ('rate' in order) ({ rate, until } = order);
});

/** Sizes from the number alone: mostly few, at times enough for COPY. */
const sizeAt = (n: number): number => {
  const mixed = Math.imul(n + 1, 0x9e3779b1) >>> 8;
  return mixed % 12 === 0 ? 70 : 1 + (mixed % 13);
};

const main = async (): Promise<void> => {
  const pool = tapPool(createPool({ databaseUrl, max: 5, applicationName: `chaos submitter ${name}` }), {
    before: async (statement) => {
      if (statement.name === 'lower-due' && held > 0 && post.isArmed('client-commit-ring'))
        await post.stay({ point: 'client-commit-ring', live: held });
    },
  });
  const connection = Connection.lazy({ address });
  const temporal = { client: new TemporalClient({ connection, namespace: 'default', interceptors: shortRuns }) };
  const client = createClient({ databaseUrl, handlers: chaosHandlers('http://unused', -1), prefix, pool, temporal });
  const submit = async (numbers: readonly number[]): Promise<void> => {
    for (const handler of new Set(numbers.map(handlerOf))) {
      const tasks = numbers
        .filter((n) => handlerOf(n) === handler)
        .map((n) => ({ id: `${name}-${n}`, payload: { n, from: name } }));
      held = tasks.length;
      await untilDone(() => client.submit(handler, tasks));
      held = 0;
    }
  };
  say({ ready: true });
  let next = from;
  let due = 0;
  for (let last = performance.now(); ;) {
    await sleep(50);
    const now = performance.now();
    due = Math.min(due + (rate * (now - last)) / 1_000, 200);
    last = now;
    while (next < until && due >= sizeAt(next)) {
      const n = Math.min(sizeAt(next), until - next);
      await submit(Array.from({ length: n }, (_, i) => next + i));
      say({ acked: [next, next + n] });
      next += n;
      due -= n;
    }
  }
};

/** The database or its session is away now and then; a repeat of the same ids is the same tasks. */
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
