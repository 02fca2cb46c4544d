import { join } from 'node:path';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { type ExampleProcess, startChild } from '../support/child';
import type { Cleanup } from '../support/cleanup';
import { createDatabase } from '../../postgres/testing/database';
import { createStore } from '../support/database';

/** What the demo runs on: all of it started here, all of it real, on loopback. */
export interface Stack {
  databaseUrl: string;
  temporal: { address: string; uiUrl: string };
  downstream: ExampleProcess;
  /** Rejects when a process that the demo needs has ended by itself. */
  broken: Promise<never>;
}

/** On a busy machine the workers take their time. */
const READY_MS = 120_000;

/**
 * Starts Postgres, Temporal with its Web UI, the downstream and `workers` worker processes; `say`
 * gets a line for each.
 */
export async function startStack(workers: number, cleanup: Cleanup, say: (line: string) => void): Promise<Stack> {
  const [postgres, temporal] = await startServers(cleanup, say);
  const databaseUrl = await createStore(postgres.url, 'muster');
  const start = async (what: string, script: string, args: string[], env: Record<string, string> = {}) => {
    const child = await startChild(join(__dirname, script), args, { env, readyMs: READY_MS });
    cleanup.add(what, () => child.stop());
    say(`${what}: process ${child.pid}`);
    return child;
  };
  const indexUrl = await createDatabase(postgres.url, 'city_index');
  // By the environment: arguments, and the password in them, are for every user of the machine to
  // see.
  const downstream = await start('downstream (bulk index)', 'downstream.js', [], { CITY_INDEX_DATABASE_URL: indexUrl });
  const args = ['--temporal', temporal.address, '--index-url', downstream.url];
  const started = await Promise.all(
    Array.from({ length: workers }, (_, i) =>
      start(`worker ${i + 1}`, 'worker.js', args, { MUSTER_DATABASE_URL: databaseUrl }),
    ),
  );
  return { databaseUrl, temporal, downstream, broken: whenBroken(postgres, temporal, downstream, started) };
}

async function startServers(cleanup: Cleanup, say: (line: string) => void) {
  // Chatter of the servers stays out, what is used or fetched is told.
  const log = (line: string) => /used|using|fetch|download|install/i.test(line) && say(line);
  const starting = [
    startPostgres({ log }).then((server) => {
      cleanup.add('Postgres', () => server.stop());
      say(`Postgres: process ${server.pid}, port ${server.port}, temporary data`);
      return server;
    }),
    startTemporalDev({ ui: true, log }).then((server) => {
      cleanup.add('Temporal', () => server.stop());
      const uiUrl = `${server.uiUrl}/namespaces/default/workflows`;
      say(`Temporal: process ${server.pid}, ${server.address}, Web UI ${uiUrl}`);
      return { ...server, uiUrl };
    }),
  ] as const;
  await Promise.allSettled(starting); // before one's failure is told, the other is known to the cleanup
  return Promise.all(starting);
}

function whenBroken(
  postgres: { exited: Promise<unknown> },
  temporal: { exited: Promise<unknown> },
  downstream: ExampleProcess,
  workers: readonly ExampleProcess[],
): Promise<never> {
  const ends: [what: string, end: Promise<unknown>][] = [
    ['Postgres', postgres.exited],
    ['Temporal', temporal.exited],
    ['the downstream', downstream.ended],
    // One of two workers may die: the other takes over what it did.
    ['every worker', Promise.all(workers.map((worker) => worker.ended))],
  ];
  const broken = Promise.race<never>(
    ends.map(async ([what, end]): Promise<never> => {
      throw new Error(`${what} ended by itself: ${JSON.stringify(await end)}`);
    }),
  );
  broken.catch(() => undefined); // reported to the caller that awaits it
  return broken;
}
