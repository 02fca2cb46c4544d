import type { Scene, Stage } from './scene';
import { ok } from './scene';
import { LEASE_MS } from './world';

/**
 * Where writes are fenced (docs/internals/leases.md), each with an order of statements that needs
 * it.
 */

/**
 * Turn `turn` of a run, once more or too late: a local activity of a process that was thought dead.
 */
const zombieTurn = (stage: Stage, runId: string, runStartedAtMs: number, turn: number): Promise<unknown> =>
  stage.world.takeTurn({ runId, runStartedAtMs, leaderId: 1, turn, live: [], mayClaim: true });

const gate = (): { passed: Promise<void>; open: () => void } => {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
};

/** The next call reports its arrival and answers when it may. */
const callGate = (stage: Stage): { called: Promise<void>; answer: () => void } => {
  const called = gate();
  const answered = gate();
  stage.answers.push(async (batch) => {
    called.open();
    await answered.passed;
    return ok(batch);
  });
  return { called: called.passed, answer: answered.open };
};

/**
 * A task is in the store and its target due, and its client has not yet rung on: in between comes
 * `during`.
 */
const betweenCommitAndWake = async (stage: Stage, during: () => Promise<unknown>): Promise<void> => {
  const held = stage.world.hold('client', 'before', 'wake-leaders');
  const submitted = stage.submit('a', 'second');
  await held.reached;
  await during();
  held.open();
  await submitted;
};

/**
 * The run is terminated, its dispatch goes on; a new one takes over when the lease has passed.
 */
const takeOver = async (stage: Stage, afterMs: number): Promise<void> => {
  stage.world.terminate(1);
  await stage.world.clock.step(afterMs);
  await stage.world.sweep();
};

const CARRIED_BY_ME =
  'and b.attempt = m.attempt and b.state + 0 = 1 and b.dispatch = m.dispatch and b.attempt_until is null';

export const fencingScenes: Scene[] = [
  {
    name: 'a repeated turn writes nothing',
    without: { seen: (name, rows) => (name === 'lock-leader' ? rows.map((row) => ({ ...row, turn: 0 })) : rows) },
    catches: 'stuck',
    play: async (stage) => {
      await stage.submit('a', 'first');
      await stage.world.rest();
      await betweenCommitAndWake(stage, () => zombieTurn(stage, 'run-1', 1_000, 1));
    },
  },
  {
    name: 'a turn of an older run is refused by the epoch',
    without: {
      seen: (name, rows) => (name === 'lock-leader' ? rows.map((row) => ({ ...row, runStartedAtMs: null })) : rows),
    },
    catches: 'stuck',
    play: async (stage) => {
      await stage.submit('a', 'first');
      await stage.world.rest();
      await betweenCommitAndWake(stage, () => zombieTurn(stage, 'run-0', 500, 9));
    },
  },
  {
    name: 'a call is marked only by the dispatch that carries its batch, at the attempt that it expects',
    without: { rewrite: (name, text) => (name === 'mark-attempts' ? text.replace(CARRIED_BY_ME, '') : text) },
    catches: 'together',
    play: async (stage) => {
      const zombie = stage.world.hold('dispatch', 'before', 'mark-attempts');
      await stage.submit('a', 'first');
      await zombie.reached;
      const theirs = callGate(stage);
      await takeOver(stage, LEASE_MS + 61_000); // it waits for its own dispatch for up to a minute
      await theirs.called;
      const marked = stage.world.hold('dispatch', 'after', 'mark-attempts');
      zombie.open();
      await marked.reached;
      marked.open();
      const over = stage.world.hold('dispatch', 'after', 'end-dispatch'); // the zombie's end, whatever it did
      await over.reached;
      over.open();
      theirs.answer();
    },
  },
  {
    name: 'nobody takes the next attempt before the deadline of the last has passed',
    handler: { timeoutMs: 300_000 },
    without: {
      rewrite: (name, text) =>
        name === 'adopt-orphans' ? text.replace('greatest(retry_at, attempt_until)', 'retry_at') : text,
    },
    catches: 'together',
    play: async (stage) => {
      const first = callGate(stage);
      await stage.submit('a', 'first');
      await first.called;
      const adopted = stage.world.hold('leader', 'after', 'publish-turn');
      await takeOver(stage, LEASE_MS + 61_000);
      await adopted.reached;
      adopted.open();
      await settled(stage);
      await stage.world.clock.step(3_000); // the backoff of an unknown outcome
      await settled(stage);
      first.answer();
    },
  },
  {
    name: 'a late answer is refused once a newer attempt exists',
    handler: { timeoutMs: 30_000 },
    without: {
      rewrite: (name, text) => (name === 'settle-succeeded' ? text.replace('and b.attempt = g.attempt ', '') : text),
    },
    catches: 'together',
    play: async (stage) => {
      const first = callGate(stage);
      await stage.submit('a', 'first');
      await first.called;
      const second = callGate(stage);
      await takeOver(stage, LEASE_MS + 61_000); // also past the deadline of the first
      await settled(stage);
      await stage.world.clock.step(3_000);
      await second.called;
      stage.found.splice(0); // both are called now, as they must be: the first one's deadline has passed
      const late = stage.world.hold('dispatch', 'after', 'settle-succeeded');
      first.answer();
      await late.reached;
      const { rows } = await stage.world.pool.query<{ state: number }>('select state from batch');
      if (rows.some(({ state }) => state === 4))
        stage.found.push({ kind: 'together', what: 'an older attempt settled' });
      late.open();
      second.answer();
    },
  },
];

/** Until nobody but the held calls is under way: no leader is between two statements. */
const settled = async (stage: Stage): Promise<void> => {
  const { pool } = stage.world;
  const read = async (): Promise<string> =>
    JSON.stringify(
      (await pool.query('select l.state, l.turn, b.attempt, b.dispatch, b.retry_at from leader l, batch b')).rows,
    );
  for (let same = 0, last = ''; same < 20;) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const now = await read();
    same = now === last ? same + 1 : 0;
    last = now;
  }
};
