import type { Worker } from 'node:worker_threads';
import pino from 'pino';
import { nowNs, Heartbeat } from '../../activities/nodes/heartbeat';
import { Keeper } from '../../activities/nodes/heartbeat/keeper';
import { SignOfLife } from '../../activities/nodes/heartbeat/shared';
import { Silence } from '../../activities/nodes/heartbeat/silence';
import { closeChunk } from '../../postgres/executions/chunk';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { oneEach, Scene } from '../postgres/executionStore';

/** What a worker process holds is kept by a separate thread. */

test('silence is counted while this thread looks: time in which the whole process stood still is not held against the main thread', () => {
  let now = 0;
  const signOfLife = new SignOfLife();
  const silence = new Silence(signOfLife, 100, () => now);
  const after = (ms: number): number => ((now += ms), silence.look());
  expect([after(100), after(100), after(150)]).toEqual([100, 200, 350]);
  expect(after(600_000)).toBe(650); // stopped for 10 minutes
  signOfLife.give();
  expect([after(100), after(100)]).toEqual([0, 100]);
});

test('what is new is said also when it comes in the middle of a write: a node that drains still gives signs of life', async () => {
  const database = await createDatabase();
  const keeper = new Keeper(database.pool, () => undefined);
  const row = { id: 'a', taskQueue: 'q', handlers: [], version: '1' };
  keeper.setBeat({ row: { ...row, draining: false }, everyMs: 20, silenceMs: 60_000 });
  keeper.look(0); // its write is under way
  keeper.setBeat({ row: { ...row, draining: true }, everyMs: 20, silenceMs: 60_000 });
  await eventually(async () => {
    keeper.look(0);
    return (await database.pool.query(`select from node where id = 'a' and draining`)).rowCount === 1;
  });
  await database.drop();
});

test('a node that the store did not know is told to answer; a sign that cannot be written is logged', async () => {
  const database = await createDatabase();
  let answers = 0;
  const warned: string[] = [];
  const write = (line: string): void => void warned.push((JSON.parse(line) as { msg: string }).msg);
  const log = pino({ level: 'warn' }, { write });
  const heartbeat = new Heartbeat({ pool: database.pool, log, onAnswers: () => void answers++ });
  try {
    const row = { id: 'a', taskQueue: 'q', handlers: [], version: '1', draining: false };
    heartbeat.beat(row, 20, 60_000);
    await eventually(() => answers + warned.length > 0);
    expect([answers, warned]).toEqual([1, []]);
    await database.pool.query('alter table node rename to away');
    await eventually(() => answers + warned.length > 1);
    expect([answers, warned]).toEqual([1, ['a heartbeat could not be written; trying again']]);
  } finally {
    await heartbeat.stop();
    await database.drop();
  }
});

describe('a chunk', () => {
  const LEASE_MS = 600;
  let database: TestDatabase;
  let heartbeat: Heartbeat;
  beforeAll(async () => {
    database = await createDatabase();
  });
  beforeEach(() => {
    heartbeat = new Heartbeat({ pool: database.pool, log: pino({ level: 'silent' }) });
  });
  afterEach(() => heartbeat.stop());
  afterAll(() => database.drop());

  const taken = async () => {
    const scene = await Scene.of(database.pool, oneEach(2));
    const [id] = (await scene.plan(['a'])) as [string];
    const takenAt = nowNs();
    const epoch = await scene.take(id, 'a', LEASE_MS);
    return {
      id,
      lease: heartbeat.hold({ chunk: { id, nodeId: 'a', epoch }, leaseMs: LEASE_MS, itemMs: 5_000 }, 1, takenAt),
    };
  };
  const expiresAt = async (id: string): Promise<number> =>
    (
      await database.pool.query<{ at: Date }>('select expires_at as at from chunk where id = $1', [id])
    ).rows[0]!.at.getTime();
  const renewed = async (id: string): Promise<unknown> => {
    const before = await expiresAt(id);
    return eventually(async () => (await expiresAt(id)) > before + LEASE_MS);
  };
  const going = new AbortController().signal;

  test('is renewed until it is ended; what was taken away is told, and nothing of it is begun', async () => {
    const [kept, lost] = [await taken(), await taken()];
    await renewed(kept.id);
    expect(await kept.lease.check(going)).toBe(true);
    expect(await closeChunk(database.pool, lost.id, 'returned', 'a')).toBe(true);
    await eventually(() => lost.lease.lost.aborted);
    expect(await lost.lease.check(going)).toBe(false);
    expect(kept.lease.lost.aborted).toBe(false);
    kept.lease.end();
    await eventually(async () => (await expiresAt(kept.id)) < Date.now() - LEASE_MS);
  });

  test('is kept by the next thread where one ended by itself', async () => {
    const { id, lease } = await taken();
    await renewed(id);
    await (heartbeat as unknown as { worker: Worker }).worker.terminate();
    await renewed(id);
    expect(await lease.check(going)).toBe(true);
  });
});
