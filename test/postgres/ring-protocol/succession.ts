import assert from 'node:assert/strict';
import type { Scene } from './scene';
import { Death } from './death';

/** A run that is gone left the end of its last turn undone: the run that follows does it. */

/**
 * The first claim that empties a target's queue without cutting a batch: its process dies after the
 * commit, with its workflow.
 */
const succession: Scene = {
  name: 'a new run runs R1 on the targets that the last run touched',
  without: {
    rewrite: (name, text) =>
      name.startsWith('lock-leader') ? text.replace('l.answer', 'null::jsonb as answer') : text,
  },
  catches: 'lost',
  fate: (stage) => {
    let died = false;
    return {
      after: async (party, { name, transaction }) => {
        if (party !== 'leader' || name !== 'commit' || died || transaction?.includes('update-targets') !== true) return;
        died = true;
        const { world, wake } = stage();
        world.terminate(1);
        const next = world.hold('leader', 'before', 'is-due-earlier');
        await wake();
        await next.reached;
        next.open();
        throw new Death('after the commit of a claim');
      },
    };
  },
  play: async (stage) => {
    const { world } = stage;
    const locking = world.hold('leader', 'before', 'lock-due-targets');
    await stage.submit('a', 'first');
    await locking.reached;
    await world.client.cancel(['first']);
    const writing = world.hold('leader', 'before', 'update-targets');
    locking.open();
    await writing.reached;
    await stage.submit('a', 'second'); // the target is due already and its leader works: the ring changes nothing
    writing.open();
  },
};

/**
 * A run that sleeps until its wake's time is no sign that a later wake arrived: where a client
 * dies between its ring and its wake, the sweeper wakes the leader when the lease has passed.
 */
const staleWake: Scene = {
  name: 'a run that an earlier wake starts does not stand for a lost one',
  handler: { linger: { lingerMs: 60_000 } },
  without: { noExpiry: true },
  catches: 'stuck',
  fate: () => ({ wake: () => wakes.shift()?.() ?? Promise.resolve() }),
  play: async (stage) => {
    const first = gate();
    wakes.splice(0, wakes.length, first.pass, () => Promise.reject(new Death('before its wake')));
    const early = stage.submit('a', 'first'); // waits until it has lingered
    await first.reached;
    await stage.world.client.resume('errands'); // every leader with work looks, and is not told
    assert.equal(stage.world.runs.size, 0);
    first.open();
    await early;
    await stage.world.rest();
    assert.equal(stage.world.runs.size, 1);
  },
};
/** What the next wakes of the scene come to. */
const wakes: (() => Promise<void>)[] = [];

const gate = (): { reached: Promise<void>; pass: () => Promise<void>; open: () => void } => {
  let arrive = (): void => undefined;
  let open = (): void => undefined;
  const reached = new Promise<void>((resolve) => (arrive = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { reached, pass: () => (arrive(), opened), open };
};

export const successionScenes: Scene[] = [succession, staleWake];
