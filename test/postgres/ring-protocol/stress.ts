import { isOutage } from './outage';
import type { TestDatabase } from '../../helpers/database';
import type { Finding } from './checker';
import { check, drain } from './checker';
import { Clock } from './tools/clock';
import { Dice } from './tools/dice';
import { Errands, HANDLERS } from './errands';
import type { Fate } from './fate';
import { Death } from './death';
import { resolveParked } from './resolveParked';
import { World } from './world';

export interface StressReport {
  seed: number;
  rounds: number;
  tasks: number;
  calls: number;
  /** How often each of the things that may go wrong, and each operation, was done. */
  done: Record<string, number>;
  states: Record<string, number>;
  findings: Finding[];
  /** The last statements before the first finding; empty without one. */
  trace: string;
}

const TARGETS = 8;
const OPERATIONS = 10;
const KEYS = ['a', 'b', 'c'];

/**
 * The whole protocol at random, from a seed: submits, flushes, cancels, pauses, overrides,
 * redrives, on targets of three handlers (leader sets, a leader a target, and distinct keys), with
 * every answer that a downstream may give, statements delayed, processes that die before R1, before
 * R2, before the wake, before and after every commit of a claim and in dispatches, runs that are
 * terminated, turns that come twice or late. After each round the world comes to rest and the
 * checker looks; then the clock moves on. In the end everything is resumed and must end.
 */
export const stress = async (database: TestDatabase, seed: number, seconds: number): Promise<StressReport> => {
  const run = new Stress(seed);
  const clock = await Clock.create(database.pool);
  const world = await World.open(database, clock, run.errands.handlers(), { leader: { turnsPerRun: 7 } }, run.fate());
  try {
    return await run.go(world, clock, seconds);
  } finally {
    await world.close();
  }
};

class Stress {
  private readonly dice: Dice;
  readonly errands: Errands;
  private readonly accepted: string[] = [];
  private readonly found: Finding[] = [];
  private readonly zombies: (() => Promise<unknown>)[] = [];
  private no = 0;

  constructor(private readonly seed: number) {
    this.dice = new Dice(seed);
    this.errands = new Errands(this.dice, this.found, () => this.world!.pool);
  }

  fate(): Fate {
    return {
      before: async (party, { name, values }) => {
        if (this.dice.chance(0.2)) await this.dice.delay(4);
        const ring = name === 'lower-due' || name === 'wake-leaders';
        if (
          party === 'client' &&
          ring &&
          this.dice.chance(0.02, `death: client, before ${name === 'lower-due' ? 'R1' : 'R2'}`)
        ) {
          for (const id of values[0] as number[]) this.world!.unrung.add(id);
          throw new Death('before the ring');
        }
        if (party === 'leader' && this.dice.chance(0.004, 'death: in a claim')) throw new Death('in the claim');
        if (party === 'dispatch' && this.dice.chance(0.004, 'death: dispatch')) throw new Death('in a dispatch');
      },
      after: (party, { name, transaction }) => {
        if (
          party !== 'leader' ||
          name !== 'commit' ||
          !this.dice.chance(0.03, 'death: claim committed, before the re-read')
        )
          return Promise.resolve();
        // It may have woken others, whose wake then died with it.
        if (transaction?.includes('wake-blocked-leaders') === true) this.loseWakes = true;
        return Promise.reject(new Death('after the commit of a claim'));
      },
      wake: async () => {
        await this.dice.delay(3);
        if (this.dice.chance(0.03, 'death: before the wake')) throw new Death('before the wake');
      },
      turn: async (world, take) => {
        if (this.dice.chance(0.05, 'turn: late')) this.zombies.push(take);
        if (this.dice.chance(0.05, 'turn: at once again')) void world.during(() => take().catch(() => undefined));
        const answer = await take();
        return this.dice.chance(0.1, 'turn: repeated') ? take() : answer;
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
      await clock.step(this.dice.random() * (this.dice.random() < 0.1 ? 20_000 : 1_500));
      await world.rest();
    }
    const trace = this.found.length === 0 ? '' : world.recorder.text();
    this.dice.wild = false;
    if (this.found.length === 0) this.found.push(...(await this.finish(world)));
    const { rows } = await world.pool.query<{ state: number; n: number }>(
      'select state, count(*)::int as n from task_state group by 1 order by 1',
    );
    const states = Object.fromEntries(rows.map(({ state, n }) => [String(state), n]));
    return {
      seed: this.seed,
      rounds,
      tasks: this.accepted.length,
      calls: this.errands.calls,
      done: this.dice.done,
      states,
      findings: this.found,
      trace,
    };
  }

  /**
   * A claim that died after its commit may have written other leaders as woken and told nobody: the
   * net's affair.
   */
  private async forgive(world: World): Promise<void> {
    for (const [what, times] of await world.failedRings.forgive(world.pool, world.unrung))
      this.dice.done[what] = (this.dice.done[what] ?? 0) + times;
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
      this.errands.mended = i > 2;
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
    await this.dice.delay(15);
    const handler = this.dice.pick(HANDLERS);
    const to = `t${Math.floor(this.dice.random() * TARGETS)}`;
    const { client } = world;
    const known = this.accepted.length > 0 ? { target: to } : null;
    const dice = this.dice.random();
    if (dice < 0.6 || known === null) return this.submit(world, handler, to);
    const operation = this.operations(world, clock, handler, to).find(({ below }) => dice < below)!;
    this.dice.done[operation.name] = (this.dice.done[operation.name] ?? 0) + 1;
    // A target that is not there yet, a death on the way: no matter, the checker looks at what is.
    await operation.run(client).catch((error: unknown) => {
      const code = (error as { code?: string }).code;
      if (isOutage(error))
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
        run: (client) => client.cancel([this.dice.pick(this.accepted), this.accepted.at(-1)!]),
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
            maxItems: 1 + Math.floor(this.dice.random() * 6),
            lingerMs: Math.floor(this.dice.random() * 4_000),
          }),
      },
      {
        below: 0.92,
        name: 'redrive',
        run: (client) => client.redrive(handler === 'keyed' ? 'single' : handler, { only: 'dead' }),
      },
      { below: 0.94, name: 'clock', run: () => clock.step(this.dice.random() * 300) },
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
        run: () => Promise.resolve(world.terminate(this.dice.pick([...world.runs.keys(), 0]))),
      },
    ];
  }

  private async submit(world: World, handler: string, to: string): Promise<void> {
    const tasks = Array.from({ length: 1 + Math.floor(this.dice.random() ** 3 * 9) }, () => ({
      id: `e${++this.no}`,
      payload: {
        to,
        ...(this.dice.random() < 0.02 ? { poison: true as const } : {}),
        ...(handler === 'keyed' ? { key: this.dice.pick(KEYS) } : {}),
      },
    }));
    this.dice.done['submit'] = (this.dice.done['submit'] ?? 0) + 1;
    // A key keeps the order in which its tasks may go: nothing put off there, and nothing begun
    // anew.
    const notBefore =
      handler !== 'keyed' && this.dice.random() < 0.1 ? world.clock.nowMs() + this.dice.random() * 5_000 : undefined;
    await world.client.submit(
      handler,
      tasks.map((task) => ({ ...task, notBefore })),
    );
    this.accepted.push(...tasks.map(({ id }) => id));
  }
}
