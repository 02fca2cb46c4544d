import assert from 'node:assert/strict';
import type { Pool } from '../../../postgres/pool';
import { lowerDue, wakeLeaders } from '../../../postgres/grouping/ring';
import type { TargetRow } from '../../../postgres/grouping/target';
import { registerTargets } from '../../../postgres/grouping/target';
import { insertTasks } from '../../../postgres/grouping/task';
import type { Scene } from './scene';
import { beforePublishing, introduce, inTransaction } from './steps';

/** What must have committed when (docs/internals/ring-protocol.md): registration, tasks, R1, R2. */

const PLAIN = {
  payload: '{"to":"b"}',
  bytes: 10,
  weight: null,
  key: null,
  priority: 0,
  recipientId: null,
  notBeforeMs: null,
  expiresAtMs: null,
  version: null,
  trace: null,
  labels: null,
};

export const commitScenes: Scene[] = [
  {
    name: 'targets are registered in a commit of their own, before the tasks and the ring',
    without: {},
    catches: 'lost',
    play: async (stage, wrong) => {
      await introduce(stage);
      const { client, pool } = stage.world;
      let target: TargetRow | undefined;
      const register = async (db: Pool): Promise<void> => {
        [target] = await registerTargets(db, 1, ['b'], ['0']);
      };
      let commit: () => Promise<void> = () => Promise.resolve();
      if (wrong) commit = await inTransaction(pool, register);
      else await register(pool);
      // Another submit of the same client, which knows the target by now.
      const { id, lookedUpAtMs } = target!;
      await insertTasks(pool, [{ ...PLAIN, id: 'second', targetId: id }], lookedUpAtMs);
      await client.ring([id]);
      await commit();
    },
  },
  {
    name: 'the ring follows the commit of the tasks, it is not inside their transaction',
    without: {},
    catches: 'overdue',
    play: async (stage, wrong) => {
      await introduce(stage);
      const { world } = stage;
      let commit: () => Promise<void> = () => Promise.resolve();
      await beforePublishing(stage, async () => {
        commit = await inTransaction(world.pool, async (tx) => {
          await world.client.submit('errands', { id: 'second', payload: { to: 'a' } }, { tx });
          if (!wrong) return;
          await lowerDue(tx, [1]);
          await wakeLeaders(tx, [1], 3_000);
        });
      });
      await commit();
      if (!wrong) await world.client.ring([1]);
    },
  },
  {
    name: 'R1 has committed when R2 reads: two statements, two transactions',
    without: {},
    catches: 'overdue',
    play: async (stage, wrong) => {
      await introduce(stage);
      const { pool } = stage.world;
      // A target that the last run did not touch: the next one begins with R1 on those, and would
      // wait for the commit.
      const targetIds = await stage.accept('b', 'second');
      let commit: () => Promise<void> = () => Promise.resolve();
      const ring = async (db: Pool): Promise<void> => {
        await lowerDue(db, targetIds);
        assert.deepEqual(await wakeLeaders(db, targetIds, 3_000), []); // it works: it will see for itself
      };
      await beforePublishing(stage, async () => {
        if (wrong) commit = await inTransaction(pool, ring);
        else await ring(pool);
      });
      await commit();
    },
  },
];
