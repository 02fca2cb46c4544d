import { setTimeout as sleep } from 'node:timers/promises';
import type { Batch, Handler, SubmitAnswer } from '../../../handlers';
import { defineHandler, HaltError } from '../../../handlers';
import { isRetryable } from '../../../postgres/errors';
import { randomOf } from '../../chaos/random';
import type { TestDatabase } from '../../helpers/database';
import type { Finding } from './checker';
import { check, drain } from './checker';
import { Clock } from './clock';
import type { Fate } from './fate';
import { Death } from './death';
import { resolveParked } from './resolveParked';
import { World } from './world';

interface Errand {
  to: string;
  poison?: true;
  /** Of the handler that tells tasks apart by it (H6). */
  key?: string;
}

export interface StressReport {
  seed: number;
  rounds: number;
  tasks: number;
  calls: number;
  /** How often each of the things that may go wrong, and each operation, was done. */
  done: Record<string, number>;
  states: Record<string, number>;
  findings: Finding[];
}

const TARGETS = 8;
const OPERATIONS = 10;
const HANDLERS = ['errands', 'single', 'keyed'] as const;
const KEYS = ['a', 'b', 'c'];

/** Tasks of the same key that were accepted before and have not come to an end. */
const EARLIER = `
select e.id as earlier, t.id as later from task t join task e on e.target_id = t.target_id and e.key = t.key and e.seq < t.seq join task_state s on s.seq = e.seq
where t.id = any($1::text[]) and s.state < 3`;

/**
 * The whole protocol at random, from a seed: submits, flushes, cancels, pauses, overrides,
 * redrives, on targets of three handlers (leader sets, a leader a target, and distinct keys), with
 * every answer that a downstream may give, statements delayed, processes that die before R1, before
 * R2, before the wake, before and after every commit of a claim and in submissions, runs that are
 * terminated, turns that come twice or late. After each round the world comes to rest and the
 * checker looks; then the clock moves on. In the end everything is resumed and must end.
 */
export const stress = async (database: TestDatabase, seed: number, seconds: number): Promise<StressReport> => {
  const run = new Stress(seed);
  const clock = await Clock.create(database.pool);
  const world = await World.open(database, clock, run.handlers(), { leader: { turnsPerRun: 7 } }, run.fate());
  try {
    return await run.go(world, clock, seconds);
  } finally {
    await world.close();
  }
};

class Stress {
  private readonly random: () => number;
  private readonly done: Record<string, number> = {};
  private readonly accepted: string[] = [];
  private readonly inCall = new Map<string, number>();
  private readonly keysInCall = new Map<string, string>();
  private readonly found: Finding[] = [];
  private readonly zombies: (() => Promise<unknown>)[] = [];
  private calls = 0;
  private no = 0;
  /** Off while everything is to end. */
  private wild = true;
  /**
   * Two poison tasks in a batch of two pause their handler whenever it is resumed (H4), until
   * somebody mends the downstream.
   */
  private mended = false;

  constructor(private readonly seed: number) {
    this.random = randomOf(seed);
  }

  private chance(p: number, what?: string): boolean {
    if (!this.wild || this.random() >= p) return false;
    if (what !== undefined) this.done[what] = (this.done[what] ?? 0) + 1;
    return true;
  }
  private pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)]!;
  }
  private delay(most: number): Promise<void> {
    return sleep(this.random() * most);
  }

  handlers(): Handler[] {
    return HANDLERS.map(
      (name) =>
        defineHandler<Errand>({
          name,
          target: ({ to }) => to,
          limits: { maxItems: 4 },
          linger: { lingerMs: name === 'errands' ? 2_000 : 500 },
          leaders: name === 'single' ? 'target' : 2,
          concurrency: { perTarget: name === 'errands' ? 1 : 2, perHandler: 3 },
          ...(name === 'keyed' ? { distinctBy: ({ key }: Errand) => key ?? '' } : {}),
          idempotency: { by: 'batch' },
          timeoutMs: 20_000,
          retry: { inPlace: { times: 0 }, delayed: { baseMs: 2_500, maxMs: 6_000 }, maxAttempts: 4 },
          submit: (batch) => this.call(batch),
        }) as Handler,
    );
  }

  private async call(batch: Batch<Errand>): Promise<SubmitAnswer> {
    this.calls++;
    const attempt = batch.attempt;
    const other = this.inCall.get(batch.id);
    if (other === attempt)
      this.found.push({ kind: 'together', what: `attempt ${attempt} of batch ${batch.id} is called twice` });
    this.inCall.set(batch.id, attempt);
    const keys = batch.tasks.flatMap(({ payload: { to, key } }) => (key === undefined ? [] : [`${to}/${key}`]));
    await this.watchKeys(batch, keys);
    await this.delay(8);
    if (this.inCall.get(batch.id) === attempt) {
      this.inCall.delete(batch.id);
      for (const key of keys) this.keysInCall.delete(key);
    }
    if (!this.mended && batch.tasks.some(({ payload }) => payload.poison))
      return { status: 'rejected', error: 'poison' };
    if (this.chance(0.05, 'answer: later')) return { status: 'later', retryAfterMs: 3_000 };
    if (this.chance(0.03, 'answer: later, handler')) return { status: 'later', retryAfterMs: 2_500, scope: 'handler' };
    if (this.chance(0.02, 'answer: halt')) throw new HaltError('credential expired');
    if (this.chance(0.04, 'answer: unknown')) throw new Error('connection reset');
    const some = this.chance(0.1, 'answer: some retried') ? this.random() : 0;
    return { results: batch.tasks.map(({ id }) => ({ id, status: this.random() < some ? 'retry' : 'ok' })) };
  }

  /** H6: equal keys never share a batch nor two batches in flight, and keep their order. */
  private async watchKeys(batch: Batch<Errand>, keys: readonly string[]): Promise<void> {
    for (const [i, key] of keys.entries()) {
      const other = keys.indexOf(key) < i ? batch.id : this.keysInCall.get(key);
      if (other !== undefined && (other !== batch.id || keys.indexOf(key) < i))
        this.found.push({ kind: 'together', what: `key ${key} is in batch ${batch.id} and in batch ${other}` });
      this.keysInCall.set(key, batch.id);
    }
    if (keys.length === 0) return;
    const { rows } = await this.world!.pool.query<{ earlier: string; later: string }>({
      text: EARLIER,
      values: [batch.tasks.map(({ id }) => id)],
    });
    for (const { earlier, later } of rows)
      this.found.push({ kind: 'disorder', what: `${later} is called before ${earlier}, which has its key` });
  }

  fate(): Fate {
    return {
      before: async (party, { name, values }) => {
        if (this.chance(0.2)) await this.delay(4);
        const ring = name === 'lower-due' || name === 'wake-leaders';
        if (
          party === 'client' &&
          ring &&
          this.chance(0.02, `death: client, before ${name === 'lower-due' ? 'R1' : 'R2'}`)
        ) {
          for (const id of values[0] as number[]) this.world!.unrung.add(id);
          throw new Death('before the ring');
        }
        if (party === 'leader' && this.chance(0.004, 'death: in a claim')) throw new Death('in the claim');
        if (party === 'submission' && this.chance(0.004, 'death: submission')) throw new Death('in a submission');
      },
      after: (party, { name, transaction }) => {
        if (party !== 'leader' || name !== 'commit' || !this.chance(0.03, 'death: claim committed, before the re-read'))
          return Promise.resolve();
        // It may have woken others, whose wake then died with it.
        if (transaction?.includes('wake-blocked-leaders') === true) this.loseWakes = true;
        return Promise.reject(new Death('after the commit of a claim'));
      },
      wake: async () => {
        await this.delay(3);
        if (this.chance(0.03, 'death: before the wake')) throw new Death('before the wake');
      },
      turn: async (world, take) => {
        if (this.chance(0.05, 'turn: late')) this.zombies.push(take);
        if (this.chance(0.05, 'turn: at once again')) void world.during(() => take().catch(() => undefined));
        const answer = await take();
        return this.chance(0.1, 'turn: repeated') ? take() : answer;
      },
    };
  }
  private world: World | null = null;
  private loseWakes = false;

  async go(world: World, clock: Clock, seconds: number): Promise<StressReport> {
    this.world = world;
    const until = performance.now() + seconds * 1_000;
    let rounds = 0;
    for (; performance.now() < until && this.found.length === 0; rounds++) {
      await Promise.all(Array.from({ length: OPERATIONS }, () => world.calling(() => this.operate(world, clock))));
      await world.rest();
      await this.forgive(world);
      this.found.push(...(await check(world)));
      await world.sweep();
      await world.rest();
      await clock.step(this.random() * (this.random() < 0.1 ? 20_000 : 1_500));
      await world.rest();
    }
    this.wild = false;
    if (this.found.length === 0) this.found.push(...(await this.finish(world)));
    const { rows } = await world.pool.query<{ state: number; n: number }>(
      'select state, count(*)::int as n from task_state group by 1 order by 1',
    );
    const states = Object.fromEntries(rows.map(({ state, n }) => [String(state), n]));
    return {
      seed: this.seed,
      rounds,
      tasks: this.accepted.length,
      calls: this.calls,
      done: this.done,
      states,
      findings: this.found,
    };
  }

  /**
   * A claim that died after its commit may have written other leaders as woken and told nobody: the
   * net's affair.
   */
  private async forgive(world: World): Promise<void> {
    for (const [what, times] of await world.failedRings.forgive(world.pool, world.unrung))
      this.done[what] = (this.done[what] ?? 0) + times;
    if (!this.loseWakes) return;
    this.loseWakes = false;
    const { rows } = await world.pool.query<{ id: number }>('select id from leader where state = 1');
    for (const { id } of rows) world.silent.add(id);
  }

  private async finish(world: World): Promise<Finding[]> {
    for (const handler of HANDLERS) {
      const known = await world.pool.query<{ key: string }>(
        'select t.key from target t join handler h on h.id = t.handler_id where h.name = $1',
        [handler],
      );
      if (known.rows.length === 0) continue;
      await world.calling(() => world.client.resume(handler));
      for (const { key } of known.rows) await world.calling(() => world.client.resume(handler, { target: key }));
    }
    let findings = await drain(world, 1_000);
    // Bisect pauses a handler where both halves fail: poison beside poison.
    for (let i = 0; i < 50 && findings.some(({ kind }) => kind === 'stuck'); i++) {
      const { rows } = await world.pool.query<{ name: string }>('select name from handler where paused_at is not null');
      if (rows.length === 0) break;
      this.mended = i > 2;
      for (const { name } of rows) await world.calling(() => world.client.resume(name));
      findings = await drain(world, 1_000);
    }
    if (findings.length === 0) findings = await resolveParked(world);
    const lost = await world.pool.query<{ id: string }>(
      'select u.id from unnest($1::text[]) u (id) where not exists (select from task_state s where s.id = u.id and s.state >= 3)',
      [this.accepted],
    );
    if (findings.length === 0 && lost.rows.length > 0)
      findings.push({ kind: 'lost', what: JSON.stringify(lost.rows.slice(0, 5)) });
    return findings;
  }

  private async operate(world: World, clock: Clock): Promise<void> {
    await this.delay(15);
    const handler = this.pick(HANDLERS);
    const to = `t${Math.floor(this.random() * TARGETS)}`;
    const { client } = world;
    const known = this.accepted.length > 0 ? { target: to } : null;
    const dice = this.random();
    if (dice < 0.6 || known === null) return this.submit(world, handler, to);
    const operation = this.operations(world, clock, handler, to).find(({ below }) => dice < below)!;
    this.done[operation.name] = (this.done[operation.name] ?? 0) + 1;
    // A target that is not there yet, a death on the way: no matter, the checker looks at what is.
    await operation.run(client).catch((error: unknown) => {
      const code = (error as { code?: string }).code;
      if (isRetryable(error))
        world.failedRings.note(error); // what it had written is rung by nobody
      else if (!(error instanceof Death) && code !== 'NOT_FOUND') throw error;
    });
  }

  private operations(
    world: World,
    clock: Clock,
    handler: string,
    to: string,
  ): { below: number; name: string; run: (client: World['client']) => Promise<unknown> }[] {
    return [
      { below: 0.64, name: 'flush', run: (client) => client.flush(handler, to) },
      {
        below: 0.69,
        name: 'cancel',
        run: (client) => client.cancel([this.pick(this.accepted), this.accepted.at(-1)!]),
      },
      { below: 0.73, name: 'pause target', run: (client) => client.pause(handler, { target: to }) },
      { below: 0.79, name: 'resume target', run: (client) => client.resume(handler, { target: to }) },
      { below: 0.81, name: 'pause handler', run: (client) => client.pause(handler) },
      { below: 0.86, name: 'resume handler', run: (client) => client.resume(handler) },
      {
        below: 0.89,
        name: 'override',
        run: (client) =>
          client.setTarget(handler, to, {
            maxItems: 1 + Math.floor(this.random() * 6),
            lingerMs: Math.floor(this.random() * 4_000),
          }),
      },
      {
        below: 0.92,
        name: 'redrive',
        run: (client) => client.redrive(handler === 'keyed' ? 'single' : handler, { only: 'dead' }),
      },
      { below: 0.94, name: 'clock', run: () => clock.step(this.random() * 300) },
      {
        below: 0.97,
        name: 'late turn',
        run: () =>
          this.zombies
            .shift()?.()
            .catch(() => undefined) ?? Promise.resolve(),
      },
      {
        below: 1,
        name: 'terminate',
        run: () => Promise.resolve(world.terminate(this.pick([...world.runs.keys(), 0]))),
      },
    ];
  }

  private async submit(world: World, handler: string, to: string): Promise<void> {
    const tasks = Array.from({ length: 1 + Math.floor(this.random() ** 3 * 9) }, () => ({
      id: `e${++this.no}`,
      payload: {
        to,
        ...(this.random() < 0.02 ? { poison: true as const } : {}),
        ...(handler === 'keyed' ? { key: this.pick(KEYS) } : {}),
      },
    }));
    this.done['submit'] = (this.done['submit'] ?? 0) + 1;
    // A key keeps the order in which its tasks may go: nothing put off there, and nothing begun
    // anew.
    const notBefore =
      handler !== 'keyed' && this.random() < 0.1 ? world.clock.nowMs() + this.random() * 5_000 : undefined;
    await world.client.submit(
      handler,
      tasks.map((task) => ({ ...task, notBefore })),
    );
    this.accepted.push(...tasks.map(({ id }) => id));
  }
}
