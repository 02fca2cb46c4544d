import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import { createClient } from '../../client';
import type { TaskInput } from '../../client';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import type { Downstream } from './downstream';
import { startDownstream } from './downstream';
import type { CliProcess, CliResult } from './process';
import { killLeftovers, runCli, startCli } from './process';

/**
 * A user's own folder with a config file that imports 'temporal-muster', the run's servers, and a
 * downstream.
 */
export interface World {
  folder: string;
  env: Record<string, string>;
  database: TestDatabase;
  downstream: Downstream;
  /** A file in the folder: text, or values as JSON lines. */
  write(name: string, content: string | readonly unknown[]): string;
  run(args: string, stdin?: string): Promise<CliResult>;
  start(args: string, env?: Readonly<Record<string, string>>, stdin?: string): CliProcess;
  /** Accepted at once, without a command: what a test is not about. */
  submit(handler: string, ...tasks: object[]): Promise<void>;
  /** The same, and all have ended. */
  ended(handler: string, ...tasks: object[]): Promise<void>;
  /** A worker that polls. */
  worker(args?: string): Promise<CliProcess>;
  close(): Promise<void>;
}

/** `orders` goes at once, `slow` lingers for an hour, `narrow` takes 3 tasks. */
const SETTINGS = {
  orders: { limits: { maxItems: 50 }, linger: { lingerMs: 100 } },
  slow: { limits: { maxItems: 50 }, linger: { lingerMs: 3_600_000 } },
  narrow: { limits: { maxItems: 50 }, linger: { lingerMs: 3_600_000 }, maxQueued: { perHandler: 3 } },
};

export const CONFIG = `
import { defineHandler } from 'temporal-muster';
import type { Handler } from 'temporal-muster';
import { z } from 'zod';

const schema = z.object({ country: z.string(), n: z.number(), end: z.enum(['ok', 'failed', 'lost']).optional() });
const handlers: Handler[] = Object.entries(${JSON.stringify(SETTINGS)}).map(([name, settings]) =>
  defineHandler<z.infer<typeof schema>>({
    ...settings,
    name,
    schema,
    target: (order) => order.country,
    submit: async (batch, { signal }) => {
      const body = JSON.stringify(batch.tasks.map(({ id, payload }) => ({ id, ...payload })));
      const url = process.env['DOWNSTREAM_URL'] + '/' + encodeURIComponent(batch.target);
      return { results: (await (await fetch(url, { method: 'POST', body, signal })).json()) as never };
    },
  }),
);
export default handlers;
`;

/** The same handlers as far as a client needs them. */
const clientHandlers = (): Handler[] =>
  Object.entries(SETTINGS).map(([name, settings]) =>
    defineHandler<unknown>({
      ...settings,
      name,
      target: (payload) => (payload as { country: string }).country,
      submit: () => Promise.reject(new Error('the worker process makes the calls')),
    }),
  );

export const makeFolder = (): string => mkdtempSync(path.join(tmpdir(), 'muster-cli-'));

export const createWorld = async (): Promise<World> => {
  const folder = makeFolder();
  const [database, downstream] = await Promise.all([createDatabase(), startDownstream()]);
  const env: Record<string, string> = {
    MUSTER_DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporalAddress(),
    MUSTER_PREFIX: `cli-${randomBytes(5).toString('hex')}`,
    DOWNSTREAM_URL: downstream.url,
  };
  const client = createClient({
    databaseUrl: database.url,
    prefix: env['MUSTER_PREFIX']!,
    temporal: { address: temporalAddress() },
    handlers: clientHandlers(),
  });
  const submit: World['submit'] = async (handler, ...tasks) => {
    await client.submit(handler, tasks as TaskInput[]);
  };
  const write: World['write'] = (name, content) => {
    const file = path.join(folder, name);
    writeFileSync(
      file,
      typeof content === 'string' ? content : content.map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
    return file;
  };
  write('muster.config.ts', CONFIG);
  const start: World['start'] = (args, more = {}, stdin = '') =>
    startCli(words(args), { cwd: folder, env: { ...env, ...more }, stdin });
  return {
    folder,
    env,
    database,
    downstream,
    write,
    run: (args, stdin) => runCli(words(args), { cwd: folder, env, ...(stdin === undefined ? {} : { stdin }) }),
    start,
    submit,
    ended: async (handler, ...tasks) => {
      await submit(handler, ...tasks);
      await client.waitFor(
        (tasks as TaskInput[]).map(({ id }) => id),
        { timeoutMs: 60_000 },
      );
    },
    worker: async (args = '') => {
      const worker = start(`worker ${args}`);
      await worker.says(args.includes('--json') ? /"ready":true.*\n/ : /"msg":"ready"/);
      return worker;
    },
    close: async () => {
      killLeftovers();
      await downstream.close();
      await client.close();
      await database.drop();
      rmSync(folder, { recursive: true });
    },
  };
};

/** Words of a command line; single quotes keep blanks. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);

export const order = (id: string, country: string, n = 1, end?: string): object => ({
  id,
  payload: { country, n, ...(end === undefined ? {} : { end }) },
});
