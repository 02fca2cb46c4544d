import { rmSync } from 'node:fs';
import type { Client, Handler } from '../../../client';
import { createClient, defineHandler } from '../../../client';
import { compose } from '../../project/compose';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { rounds } from '../../helpers/long';
import { dumpSchema } from '../../postgres/schemaDump';
import type { Build } from '../builds';
import { CONTRACT, EXPAND, makeBuild } from '../builds';
import type { CliProcess } from '../process';
import { runProcess, startCli } from '../process';
import type { World } from '../world';
import { createWorld } from '../world';

/**
 * A rolling upgrade and a rollback under load, of this build and of one with a migration more.
 * Judged by what the downstream itself saw: every task once, each lane in its order, and at no time
 * nothing at all.
 *
 * @alone @full
 */

const LANES = ['po-1', 'po-2', 'po-3'];
const TARGETS = ['se', 'no', 'dk', 'fi'];
/**
 * Without a call for so long it does not go on. A hand-over takes a few seconds; a machine with ten
 * busy processes a core gets this.
 */
const LONGEST_GAP_MS = 60_000;
/** Between two submits. */
const SUBMIT_EVERY_MS = rounds(60, 20);
/** Submits whose tasks were sent, before it counts as going on. */
const SUBMITS_SENT = rounds(8, 15);

const CONFIG = `
import { defineHandler } from 'muster';
const call = async ({ target, tasks }: any, { signal }: any) => {
  const body = JSON.stringify(tasks.map(({ id, payload }: any) => ({ id, ...payload })));
  const response = await fetch(process.env['DOWNSTREAM_URL'] + '/' + target, { method: 'POST', body, signal });
  return { results: (await response.json()) as never };
};
const common = { target: (task: any) => task.country, limits: { maxItems: 20 }, linger: { lingerMs: 50 }, submit: call };
export default [defineHandler({ name: 'orders', ...common }), defineHandler({ name: 'ledger', service: (target: string) => target, ...common })];
`;

const workers: CliProcess[] = [];
/** The lines of warnings and errors, each cut: the first ones say what went wrong. */
const problemsOf = (log: string): string =>
  log
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line))
    .map((line) => line.slice(0, /"level":50/.test(line) ? 6_000 : 300))
    .join('\n');
/** The last warnings of the workers, for a failure's message. */
const warnings = (): string => workers.flatMap((one) => problemsOf(one.stderr()).split('\n').slice(-5)).join('\n');

const unsent = (): Promise<never> => Promise.reject(new Error('the worker process makes the calls'));
const common = {
  target: (task: { country: string }) => task.country,
  limits: { maxItems: 20 },
  linger: { lingerMs: 50 },
  submit: unsent,
};
const handlers: Handler[] = [
  defineHandler<{ country: string }>({ name: 'orders', ...common }),
  defineHandler<{ country: string }>({ name: 'ledger', service: (target) => target, ...common }),
];

let world: World;
let client: Client;
let load: Load;
/** The release after this one, and the one after that. */
let two: Build;
let three: Build;
beforeAll(() => {
  two = makeBuild({ '900001_made_up': EXPAND });
  three = makeBuild({ '900001_made_up': EXPAND, '900002_contract.needs_900001': CONTRACT });
});
beforeEach(async () => {
  world = await createWorld();
  counts = { calls: 0 };
  world.write('muster.config.ts', CONFIG);
  client = createClient({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    temporal: { address: temporalAddress() },
    handlers,
  });
});
afterEach(async () => {
  await load.stop().catch(() => undefined);
  workers.splice(0);
  await client.close();
  await world.close();
});
afterAll(() => {
  for (const { folder } of [two, three]) rmSync(folder, { recursive: true });
});

/** Submits until it is stopped; ids say their lane and their place in it. */
class Load {
  readonly ids: string[] = [];
  private stopping = false;
  private readonly ended: Promise<void>;

  constructor() {
    this.ended = this.run();
  }

  private async run(): Promise<void> {
    for (let n = 0; !this.stopping; n++) {
      const make = (handler: string, countries: readonly string[]) =>
        countries.map((country) => ({ id: `${handler}/${country}/${n}`, payload: { country, n } }));
      const [orders, ledger] = [make('orders', TARGETS), make('ledger', LANES)];
      await client.submit('orders', orders);
      await client.submit('ledger', ledger);
      this.ids.push(...[...orders, ...ledger].map(({ id }) => id));
      await new Promise((resolve) => setTimeout(resolve, SUBMIT_EVERY_MS));
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.ended;
  }
}

const sent = (): string[] => world.downstream.calls.flatMap(({ ids }) => ids);
/** Tasks sent so far, by handler; counted as they come, since it is asked all the time. */
let counts: Record<string, number> & { calls: number };
const sentBy = (handler: string): number => {
  const { calls } = world.downstream;
  for (const { ids } of calls.slice(counts.calls))
    for (const id of ids) {
      const by = id.split('/')[0]!;
      counts[by] = (counts[by] ?? 0) + 1;
    }
  counts.calls = calls.length;
  return counts[handler] ?? 0;
};

/** Waits until tasks of both handlers were sent, as many as take a while. */
const goesOn = async (what: string): Promise<void> => {
  const before = { orders: sentBy('orders'), ledger: sentBy('ledger') };
  const wentOn = (): boolean =>
    sentBy('orders') > before.orders + SUBMITS_SENT * TARGETS.length &&
    sentBy('ledger') > before.ledger + SUBMITS_SENT * LANES.length;
  await eventually(wentOn, {
    timeoutMs: 2 * LONGEST_GAP_MS,
    what: () =>
      `calls ${what}; sent ${JSON.stringify({ before, orders: sentBy('orders'), ledger: sentBy('ledger') })}\n${warnings()}`,
  });
};

/** Watches for how long nothing is sent, by handler. */
const watchGaps = (): (() => Record<string, number>) => {
  const state = ['orders', 'ledger'].map((handler) => ({ handler, n: 0, at: performance.now(), longest: 0 }));
  const look = (): void => {
    for (const one of state) {
      const [n, now] = [sentBy(one.handler), performance.now()];
      one.longest = Math.max(one.longest, now - one.at);
      if (n > one.n) Object.assign(one, { n, at: now });
    }
  };
  const timer = setInterval(look, 100);
  return () => {
    look();
    clearInterval(timer);
    return Object.fromEntries(state.map(({ handler, longest }) => [handler, Math.round(longest)]));
  };
};

const worker = async (args: readonly string[], build?: Build): Promise<CliProcess> => {
  const bin = build === undefined ? {} : { bin: build.bin };
  const started = startCli([...args], { cwd: world.folder, env: world.env, ...bin });
  workers.push(started);
  await started.says(/"msg":"ready"/);
  return started;
};
const stop = async ({ child, exit, stderr }: CliProcess): Promise<void> => {
  child.kill('SIGTERM');
  const code = await exit;
  expect({ code, said: code === 0 ? '' : problemsOf(stderr()) }).toEqual({ code: 0, said: '' });
};
/** What compose runs, without what only a container has. */
const composed = (service: string): string[] =>
  compose.services[service]!.command!.filter((word) => word !== '--metrics-port' && word !== '9464');

const schemaOf = async (): Promise<string> => {
  const db = await world.database.pool.connect();
  try {
    return await dumpSchema(db);
  } finally {
    db.release();
  }
};

const run = ({ bin }: Build, ...args: string[]) => runProcess(args, { cwd: world.folder, env: world.env, bin });

/** Ends the load, and judges what the downstream saw of it. */
const judge = async (gaps: () => Record<string, number>): Promise<void> => {
  await load.stop();
  await eventually(() => sentBy('orders') + sentBy('ledger') >= load.ids.length, {
    timeoutMs: 90_000,
    what: 'the rest to be sent',
  });
  const longest = gaps();
  expect(outOfOrder()).toEqual([]);
  expect(sent().sort()).toEqual(load.ids.sort());
  for (const ms of Object.values(longest)) expect(ms).toBeLessThan(LONGEST_GAP_MS);
  expect((await world.run('verify')).code).toBe(0);
};

test('rolling upgrade and rollback of two builds under load: 0 lost, 0 doubled, 0 out of order, and it always goes on', async () => {
  const before = await schemaOf();
  load = new Load();
  let current = await worker(['worker']);
  await goesOn('at the start');
  const gaps = watchGaps();

  expect((await run(two, 'migrate', '--json')).json()).toMatchObject({ ran: ['900001_made_up'] });
  await goesOn('of the old build on the new tables');
  const newer = await worker(['worker'], two);
  await stop(current);
  await goesOn('of the new build');

  const migrated = await world.run('migrate --json');
  expect([migrated.code, migrated.json()]).toMatchObject([0, { ran: [] }]);
  current = await worker(['worker']);
  await current.says(/the tables are of a newer version \(900001_made_up\), which this program supports/);
  await stop(newer);
  await goesOn('after the rollback');

  expect((await run(two, 'migrate', 'down', '--json')).json()).toMatchObject({ undone: ['900001_made_up'] });
  expect(await schemaOf()).toBe(before);
  await goesOn('after the migration was undone');
  await judge(gaps);
  await stop(current);
});

test('compose, profile upgrade: the version before starts on the new tables and ends what it began; after a contraction it refuses', async () => {
  load = new Load();
  const [previous, next] = [composed('worker-previous'), composed('worker')];
  const begun = await worker([...next, '--build-id', 'one']);
  await goesOn('at the start');
  const gaps = watchGaps();

  expect((await run(two, ...composed('migrate'))).code).toBe(0);
  const newer = await worker([...next, '--build-id', 'two'], two);
  await newer.says(/this version is now the current one/);
  const beside = await worker([...previous, '--build-id', 'one']);
  await stop(begun);
  await goesOn('of both versions');
  await judge(gaps);
  await stop(beside);
  await stop(newer);

  expect((await run(three, ...composed('migrate'))).code).toBe(0);
  expect((await run(two, 'status')).code).toBe(0);
  const refused = await runProcess(['worker', '--start-timeout', '0ms'], { cwd: world.folder, env: world.env });
  expect(refused.code).toBe(3);
  expect(refused.stderr).toMatch(/newer than this program: it has 900002_contract.needs_900001, .*Use a newer Muster/);
});

/** Tasks of lanes that were sent after a later one of their lane. */
const outOfOrder = (): string[] => {
  const last = new Map<string, number>();
  return world.downstream.calls
    .flatMap(({ ids }) => ids)
    .filter((id) => {
      const [handler, lane = '', place] = id.split('/');
      if (handler !== 'ledger') return false;
      const late = Number(place) < (last.get(lane) ?? -1);
      last.set(lane, Math.max(Number(place), last.get(lane) ?? -1));
      return late;
    });
};
