import type { Client, Handler } from '../../../client';
import { createClient, defineHandler } from '../../../client';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { failedRuns } from '../../healing/failedRuns';
import { rounds } from '../../helpers/long';
import { dumpSchema } from '../../postgres/schemaDump';
import type { Build } from '../builds';
import type { CliProcess } from '../process';
import { runProcess, startCli } from '../process';
import type { World } from '../world';
import { createWorld } from '../world';

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
import { defineHandler } from 'temporal-muster';
const call = async ({ target, tasks }: any, { signal }: any) => {
  const body = JSON.stringify(tasks.map(({ id, payload }: any) => ({ id, ...payload })));
  const response = await fetch(process.env['DOWNSTREAM_URL'] + '/' + target, { method: 'POST', body, signal });
  return { results: (await response.json()) as never };
};
const common = { target: (task: any) => task.country, limits: { maxItems: 20 }, linger: { lingerMs: 50 }, submit: call };
export default [defineHandler({ name: 'orders', ...common }), defineHandler({ name: 'ledger', service: (target: string) => target, ...common })];
`;

/** The lines of warnings and errors, each cut: the first ones say what went wrong. */
const problemsOf = (log: string): string =>
  log
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line))
    .map((line) => line.slice(0, /"level":50/.test(line) ? 6_000 : 300))
    .join('\n');

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

/**
 * Submits tasks of targets and lanes all the time while worker processes of several builds come and
 * go; judges by what the downstream saw.
 */
export class RollingWorld {
  /** Ids say their lane and their place in it. */
  private readonly ids: string[] = [];
  private readonly workers: CliProcess[] = [];
  /** Tasks sent so far, by handler; counted as they come, since it is asked all the time. */
  private readonly counts: Record<string, number> & { calls: number } = { calls: 0 };
  private readonly client: Client;
  private stopping = false;
  private load = Promise.resolve();
  private gaps = (): Record<string, number> => ({});

  constructor(private readonly world: World) {
    world.write('muster.config.ts', CONFIG);
    this.client = createClient({
      databaseUrl: world.database.url,
      prefix: world.env['MUSTER_PREFIX']!,
      temporal: { address: temporalAddress() },
      handlers,
    });
  }

  static async create(): Promise<RollingWorld> {
    return new RollingWorld(await createWorld());
  }

  async close(): Promise<void> {
    await this.endLoad().catch(() => undefined);
    await this.client.close();
    await this.world.close();
  }

  submitAllTheTime(): void {
    this.load = this.submitUntilStopped();
  }

  private async submitUntilStopped(): Promise<void> {
    for (let n = 0; !this.stopping; n++) {
      const make = (handler: string, countries: readonly string[]) =>
        countries.map((country) => ({ id: `${handler}/${country}/${n}`, payload: { country, n } }));
      const [orders, ledger] = [make('orders', TARGETS), make('ledger', LANES)];
      await this.client.submit('orders', orders);
      await this.client.submit('ledger', ledger);
      this.ids.push(...[...orders, ...ledger].map(({ id }) => id));
      await new Promise((resolve) => setTimeout(resolve, SUBMIT_EVERY_MS));
    }
  }

  private async endLoad(): Promise<void> {
    this.stopping = true;
    await this.load;
  }

  async worker(args: readonly string[], build?: Build): Promise<CliProcess> {
    const bin = build === undefined ? {} : { bin: build.bin };
    const started = startCli([...args], { cwd: this.world.folder, env: this.world.env, ...bin });
    this.workers.push(started);
    await started.says(/"msg":"ready"/);
    return started;
  }

  run(args: readonly string[], build?: Build): ReturnType<typeof runProcess> {
    const bin = build === undefined ? {} : { bin: build.bin };
    return runProcess([...args], { cwd: this.world.folder, env: this.world.env, ...bin });
  }

  async schema(): Promise<string> {
    const db = await this.world.database.pool.connect();
    try {
      return await dumpSchema(db);
    } finally {
      db.release();
    }
  }

  /** Waits until tasks of both handlers were sent, as many as take a while. */
  async goesOn(what: string): Promise<void> {
    const before = { orders: this.sentBy('orders'), ledger: this.sentBy('ledger') };
    const wentOn = (): boolean =>
      this.sentBy('orders') > before.orders + SUBMITS_SENT * TARGETS.length &&
      this.sentBy('ledger') > before.ledger + SUBMITS_SENT * LANES.length;
    const now = (): string => JSON.stringify({ before, orders: this.sentBy('orders'), ledger: this.sentBy('ledger') });
    const warnings = (): string =>
      this.workers.flatMap((one) => problemsOf(one.stderr()).split('\n').slice(-5)).join('\n');
    await eventually(wentOn, {
      timeoutMs: 2 * LONGEST_GAP_MS,
      what: () => `calls ${what}; sent ${now()}\n${warnings()}`,
    });
  }

  /** Watches for how long nothing is sent, by handler. */
  watchGaps(): void {
    const state = ['orders', 'ledger'].map((handler) => ({ handler, n: 0, at: performance.now(), longest: 0 }));
    const look = (): void => {
      for (const one of state) {
        const [n, now] = [this.sentBy(one.handler), performance.now()];
        one.longest = Math.max(one.longest, now - one.at);
        if (n > one.n) Object.assign(one, { n, at: now });
      }
    };
    const timer = setInterval(look, 100);
    this.gaps = () => {
      look();
      clearInterval(timer);
      return Object.fromEntries(state.map(({ handler, longest }) => [handler, Math.round(longest)]));
    };
  }

  /** Ends the load, and judges what the downstream saw of it. */
  async judge(): Promise<void> {
    await this.endLoad();
    await eventually(() => this.sentBy('orders') + this.sentBy('ledger') >= this.ids.length, {
      timeoutMs: 90_000,
      what: 'the rest to be sent',
    });
    const longest = this.gaps();
    expect(this.outOfOrder()).toEqual([]);
    expect(this.sent().sort()).toEqual(this.ids.sort());
    for (const ms of Object.values(longest)) expect(ms).toBeLessThan(LONGEST_GAP_MS);
    expect((await this.world.run('verify')).code).toBe(0);
    expect(await failedRuns(await this.client.temporal(), this.world.env['MUSTER_PREFIX']!)).toEqual([]);
  }

  private sent(): string[] {
    return this.world.downstream.calls.flatMap(({ ids }) => ids);
  }

  private sentBy(handler: string): number {
    const { calls } = this.world.downstream;
    for (const { ids } of calls.slice(this.counts.calls))
      for (const id of ids) {
        const by = id.split('/')[0]!;
        this.counts[by] = (this.counts[by] ?? 0) + 1;
      }
    this.counts.calls = calls.length;
    return this.counts[handler] ?? 0;
  }

  /** Returns the tasks of lanes that were sent after a later one of their lane. */
  private outOfOrder(): string[] {
    const last = new Map<string, number>();
    return this.sent().filter((id) => {
      const [handler, lane = '', place] = id.split('/');
      if (handler !== 'ledger') return false;
      const late = Number(place) < (last.get(lane) ?? -1);
      last.set(lane, Math.max(Number(place), last.get(lane) ?? -1));
      return late;
    });
  }
}

/** Stops a worker, which must end what it has in hand and exit with 0. */
export const stopped = async ({ child, exit, stderr }: CliProcess): Promise<void> => {
  child.kill('SIGTERM');
  const code = await exit;
  expect({ code, said: code === 0 ? '' : problemsOf(stderr()) }).toEqual({ code: 0, said: '' });
};
