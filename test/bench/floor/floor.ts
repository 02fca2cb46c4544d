import type pg from 'pg';
import { CALLS_IN_FLIGHT, POLLER_EVERY_MS } from '../cases';
import type { ItemAnswer } from '../rig/callDownstream';
import { callDownstream } from '../rig/callDownstream';
import { serve } from '../rig/child';
import type { Job } from './floorJobs';
import { FloorJobs } from './floorJobs';
import type { ClaimedRow } from './floorStore';
import { claimTarget, claimTargets, complete, findDue, floorPool } from './floorStore';
import { targetKey } from '../tasks';

/**
 * The floor's worker process: hand-written SQL, no leader, no durability of decisions; the
 * yardstick of `npm run bench`.
 */

/**
 * Target by target; the same with as many targets in hand as calls in flight; claims of many
 * targets in one statement; live.
 */
export type FloorKind = 'target' | 'sixteen' | 'set' | 'poller';
export interface FloorStart {
  kind: FloorKind;
  run: string;
  targets: number;
  maxItems: number;
  lingerMs: number;
  port: number;
}

/** Tasks of one set-based claim, and of one completing statement. */
const SET_TASKS = 10_000;

let pool: pg.Pool;
let jobs: FloorJobs;
let finished: Promise<unknown> = Promise.resolve();
let arriving = false;

const call = (port: number, target: string, rows: readonly ClaimedRow[]): Promise<ItemAnswer[]> =>
  callDownstream(
    port,
    target,
    rows.map(({ id, payload }) => ({ id, payload })),
  );

const loops = (work: () => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, work));

/** As many targets in hand as calls in flight: claim, call, complete, each loop by itself. */
const bySixteen = (port: number): Promise<unknown> =>
  loops(async () => {
    for (let next = await jobs.take(0); next.length > 0; next = await jobs.take(0)) await one(port, next[0]!);
  });

const one = async (port: number, job: Job): Promise<void> => {
  const rows = await claimTarget(pool, job.target, job.n);
  if (rows.length > 0) await complete(pool, await call(port, job.target, rows));
};

/**
 * Target by target: one is finished, as far as it has arrived, before the next; as many calls in
 * flight as that one gives.
 */
const byTarget = async (port: number): Promise<void> => {
  const flying = new Set<Promise<void>>();
  let target: string | null = null;
  for (let job = await jobs.takeOf(null); job !== undefined; job = await jobs.takeOf(target)) {
    if (job.target !== target) await Promise.all(flying);
    else if (flying.size >= CALLS_IN_FLIGHT) await Promise.race(flying);
    target = job.target;
    const work: Promise<void> = one(port, job).finally(() => flying.delete(work));
    flying.add(work);
  }
  await Promise.all(flying);
};

/**
 * Set-based: one loop claims ahead for all callers, and answers that come while a completing
 * statement runs share the next.
 */
const bySet = (port: number): Promise<unknown> => {
  const ready: { target: string; rows: ClaimedRow[] }[] = [];
  let claimed = false;
  let changed: () => void = () => undefined;
  const change = new EventGate();
  const claim = async (): Promise<void> => {
    for (let next = await jobs.take(SET_TASKS); next.length > 0; next = await jobs.take(SET_TASKS)) {
      const limits = new Map<string, number>();
      for (const { target, n } of next) limits.set(target, (limits.get(target) ?? 0) + n);
      const rows = await claimTargets(pool, [...limits.keys()], [...limits.values()]);
      const size = Math.max(...next.map(({ n }) => n));
      for (const [target, own] of byKey(rows))
        for (let i = 0; i < own.length; i += size) ready.push({ target, rows: own.slice(i, i + size) });
      change.open();
      while (ready.length >= CALLS_IN_FLIGHT) await new Promise<void>((resolve) => (changed = resolve));
    }
    claimed = true;
    change.open();
  };
  const writer = new Writer();
  const caller = async (): Promise<void> => {
    for (;;) {
      const batch = ready.shift();
      changed();
      if (batch !== undefined) void writer.add(await call(port, batch.target, batch.rows));
      else if (claimed) return;
      else await change.wait();
    }
  };
  return Promise.all([claim(), loops(caller)]).then(() => writer.ended());
};

const byKey = (rows: readonly ClaimedRow[]): Map<string, ClaimedRow[]> => {
  const groups = new Map<string, ClaimedRow[]>();
  for (const row of rows) {
    const group = groups.get(row.target);
    if (group === undefined) groups.set(row.target, [row]);
    else group.push(row);
  }
  return groups;
};

class EventGate {
  private waiting: (() => void)[] = [];
  wait(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }
  open(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

class Writer {
  private answers: ItemAnswer[] = [];
  private writing: Promise<void> | null = null;

  add(answers: readonly ItemAnswer[]): Promise<void> {
    for (const answer of answers) this.answers.push(answer);
    this.writing ??= this.drain().finally(() => (this.writing = null));
    return this.writing;
  }
  async ended(): Promise<void> {
    while (this.writing !== null) await this.writing;
  }
  private async drain(): Promise<void> {
    while (this.answers.length > 0) await complete(pool, this.answers.splice(0, SET_TASKS));
  }
}

/**
 * Live: looks every 100 ms for what is full or has waited long enough. Ends when nothing more
 * arrives and nothing waits.
 */
const byPolling = async (start: FloorStart): Promise<void> => {
  const claimed = new Set<string>();
  const calls = loops(async () => {
    for (let next = await jobs.take(0); next.length > 0; next = await jobs.take(0)) {
      await one(start.port, next[0]!).finally(() => claimed.delete(next[0]!.target));
    }
  });
  for (let last = false; !last;) {
    last = !arriving;
    const due = await findDue(pool, start.maxItems, start.lingerMs);
    for (const { target } of due) {
      if (claimed.has(target)) continue;
      claimed.add(target);
      jobs.push({ target, n: start.maxItems });
    }
    if (last) last = (await pool.query({ text: 'select from floor_task where state = 0 limit 1' })).rowCount === 0;
    await new Promise((resolve) => setTimeout(resolve, POLLER_EVERY_MS));
  }
  jobs.end();
  await calls;
};

const run = (start: FloorStart): Promise<unknown> => {
  switch (start.kind) {
    case 'target':
      return byTarget(start.port);
    case 'sixteen':
      return bySixteen(start.port);
    case 'set':
      return bySet(start.port);
    case 'poller':
      return byPolling(start);
  }
};

serve(
  {
    open: (databaseUrl: string) => {
      pool = floorPool(databaseUrl, CALLS_IN_FLIGHT + 2);
    },
    start: (start: FloorStart) => {
      jobs = new FloorJobs(
        Array.from({ length: start.targets }, (_, i) => targetKey(start.run, i)),
        start.maxItems,
      );
      arriving = true;
      finished = run(start);
      finished.catch(() => undefined); // told by `finish`
    },
    progress: ({ tasks, ended, live }: { tasks: number; ended: boolean; live: boolean }) => {
      if (!live) jobs.progress(tasks, ended);
      if (ended) arriving = false;
    },
    finish: () => finished.then(() => undefined),
  },
  () => pool.end(),
);
