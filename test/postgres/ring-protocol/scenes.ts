import assert from 'node:assert/strict';
import { Death } from './death';
import type { Scene } from './scene';
import { beforePublishing, introduce, noClientRing, noPutBackRing, submitUnrung, retryAll } from './steps';

/**
 * The precautions of the ring protocol (docs/internals/ring-protocol.md), each with an order of
 * statements that needs it.
 */

export const ringScenes: Scene[] = [
  {
    name: 'a leader that published idle reads again',
    without: { skip: { leader: { 'is-due-earlier': [{ earlier: false }] } } },
    catches: 'overdue',
    play: async (stage) => {
      await introduce(stage);
      await beforePublishing(stage, () => stage.submit('a', 'second'));
    },
  },
  {
    name: 'a leader that published waiting reads again',
    handler: { linger: { lingerMs: 60_000 } },
    without: { skip: { leader: { 'is-due-earlier': [{ earlier: false }] } } },
    catches: 'overdue',
    play: async (stage) => {
      await introduce(stage);
      await beforePublishing(stage, () => stage.submit('b', 'full-1', 'full-2'));
    },
  },
  {
    name: 'after a claim R1 runs on the targets that it touched',
    without: { skip: { leader: { 'lower-due': [] } } },
    catches: 'lost',
    play: async (stage) => {
      const held = stage.world.hold('leader', 'before', 'insert-batches');
      await stage.submit('a', 'first');
      await held.reached;
      await stage.submit('a', 'second'); // the heads are read; the target is due already, the leader works: the ring changes nothing
      held.open();
    },
  },
  {
    name: 'R2 wakes leaders that wait for later, not only idle ones',
    handler: { linger: { lingerMs: 60_000 } },
    without: {
      rewrite: (name, text) =>
        name === 'wake-leaders'
          ? text.replace('l.state = 2 and not l.blocked and l.wake_at > d.due_at', 'false')
          : text,
    },
    catches: 'overdue',
    play: async (stage) => {
      await introduce(stage);
      await stage.submit('b', 'full-1', 'full-2');
    },
  },
  {
    name: 'a put-back (retry) is rung',
    without: noPutBackRing,
    catches: 'lost',
    play: (stage) => (stage.answers.push(retryAll), stage.submit('a', 'first')),
  },
  {
    name: 'a batch that is to be sent again (unknown outcome) is rung',
    without: noPutBackRing,
    catches: 'lost',
    play: (stage) => (
      stage.answers.push(() => Promise.reject(new Error('connection reset'))),
      stage.submit('a', 'first')
    ),
  },
  {
    name: 'the halves of a bisect are rung',
    without: noPutBackRing,
    catches: 'lost',
    play: (stage) => (
      stage.answers.push(() => ({ status: 'rejected', error: 'poison' })),
      stage.submit('a', 'one', 'two')
    ),
  },
  ...(['target', 'handler'] as const).map((scope): Scene => ({
    name: `a resumed ${scope} is rung`,
    handler: { linger: { lingerMs: 60_000 } },
    without: { skip: { client: { 'wake-resumed-leaders': [] } } },
    catches: 'overdue',
    play: async (stage) => {
      const options = scope === 'target' ? { target: 'a' } : {};
      await introduce(stage);
      await stage.world.client.pause('errands', options);
      await stage.pass(60_000); // it looks, and goes idle
      assert.equal(stage.world.runs.size, 0);
      await stage.world.client.resume('errands', options);
    },
  })),
  {
    name: 'a redriven task is rung',
    handler: { retry: { maxAttempts: 1, inPlace: { times: 0 } } },
    without: noClientRing,
    catches: 'lost',
    play: async (stage) => {
      stage.answers.push(retryAll);
      await submitUnrung(stage, 'a', 'first');
      assert.deepEqual(await stage.world.client.redrive('errands', { only: 'dead' }), { redriven: 1 });
    },
  },
  {
    name: 'a flush is rung',
    handler: { linger: { lingerMs: 60_000 } },
    without: noClientRing,
    catches: 'overdue',
    play: async (stage) => {
      await submitUnrung(stage, 'a', 'first');
      await stage.world.client.flush('errands', 'a');
    },
  },
  {
    name: 'a changed limit is rung',
    handler: { linger: { lingerMs: 60_000 } },
    without: noClientRing,
    catches: 'lost',
    play: async (stage) => {
      await submitUnrung(stage, 'a', 'first');
      await stage.world.client.setTarget('errands', 'a', { maxItems: 1 });
    },
  },
  {
    name: 'a paused target is outside of the re-read',
    without: { rewrite: (name, text) => (name === 'is-due-earlier' ? text.replace('and not t.paused ', '') : text) },
    catches: 'spins',
    play: async (stage) => {
      await introduce(stage);
      await stage.world.client.pause('errands', { target: 'a' });
      await stage.submit('a', 'second');
      await stage.wake();
      await stage.world.rest();
      await stage.world.client.resume('errands', { target: 'a' });
    },
  },
  {
    name: 'a paused handler is outside of the re-read',
    without: {
      rewrite: (name, text) => (name === 'is-due-earlier' ? text.replace('and h.paused_at is null', '') : text),
    },
    catches: 'spins',
    play: async (stage) => {
      await introduce(stage);
      await stage.world.client.pause('errands');
      await stage.submit('a', 'second');
      await stage.wake();
      await stage.world.rest();
      await stage.world.client.resume('errands');
    },
  },
  {
    name: 'a leader with open batches never goes idle',
    without: {
      rewrite: (name, text) =>
        name === 'publish-turn'
          ? text.replace(
              'state = $2::smallint, wake_at = to_timestamp($3::float8 / 1000)',
              'state = 0 * $2::smallint, wake_at = null',
            )
          : text,
    },
    catches: 'stuck',
    fate: (stage) => {
      let died = false;
      return {
        before: (party, { name }) => {
          if (party !== 'dispatch' || name !== 'read-dispatch' || died) return Promise.resolve();
          died = true;
          stage().world.terminate(1); // the process is gone, with its workflow's cache and its activity
          throw new Death('in the dispatch');
        },
      };
    },
    play: (stage) => stage.submit('a', 'first'),
  },
  {
    name: 'a claim first takes back what a dead dispatch held',
    without: { skip: { leader: { 'adopt-orphans': [] } } },
    catches: 'stuck',
    fate: () => {
      let died = false;
      return {
        before: (party, { name }) => {
          if (party !== 'dispatch' || name !== 'read-dispatch' || died) return Promise.resolve();
          died = true;
          throw new Death('in the dispatch');
        },
      };
    },
    play: (stage) => stage.submit('a', 'first'),
  },
  {
    name: 'a leader that looks within a millisecond of the due time waits exactly till then',
    // Published late by half a millisecond, as a wait that is rounded up: the re-read then finds
    // the target due earlier, turn after turn.
    without: {
      rewrite: (name, text) =>
        name === 'publish-turn'
          ? text.replace(
              'wake_at = to_timestamp($3::float8 / 1000)',
              "wake_at = to_timestamp($3::float8 / 1000) + interval '0.5 ms'",
            )
          : text,
    },
    catches: 'spins',
    play: async (stage) => {
      await introduce(stage);
      const { world } = stage;
      const notBefore = world.clock.nowMs() + 1_000.5;
      await world.client.submit('errands', { id: 'second', payload: { to: 'a' }, notBefore });
      await stage.pass(1_000);
      await stage.wake();
    },
  },
  {
    name: 'the sweeper wakes a leader whose lease has passed',
    handler: { linger: { lingerMs: 60_000 } },
    without: { noExpiry: true },
    catches: 'stuck',
    steps: 40,
    play: async (stage) => {
      await introduce(stage);
      stage.world.terminate(1);
    },
  },
  {
    name: 'the sweeper wakes a leader whose wake was lost',
    without: { noExpiry: true },
    catches: 'stuck',
    steps: 40,
    fate: () => {
      let lost = false;
      return { wake: () => (lost ? Promise.resolve() : ((lost = true), Promise.reject(new Death('before the wake')))) };
    },
    play: (stage) => stage.submit('a', 'first'),
  },
  {
    name: 'a leader that steps down goes on if it was woken meanwhile',
    without: { leader: { heedsWakes: false } },
    catches: 'stuck',
    play: async (stage) => {
      const held = stage.world.hold('dispatch', 'after', 'release-leader');
      await stage.submit('a', 'first');
      await held.reached;
      await stage.submit('a', 'second');
      held.open();
    },
  },
];
