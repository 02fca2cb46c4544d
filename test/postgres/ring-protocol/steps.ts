import type { Pool } from '../../../postgres/pool';
import type { Stage, ok } from './scene';

/** The leader is about to publish what it waits for: `during` happens before it does. */
export const beforePublishing = async (stage: Stage, during: () => Promise<unknown>): Promise<void> => {
  const held = stage.world.hold('leader', 'before', 'publish-turn');
  await stage.wake();
  await held.reached;
  await during();
  held.open();
  await stage.world.rest();
};

/** The errands handler, its target `a` and its leader are known, and the leader is idle. */
export const introduce = async (stage: Stage): Promise<void> => {
  await stage.submit('a', 'first');
  await stage.world.rest();
};

export const inTransaction = async (pool: Pool, work: (tx: Pool) => Promise<unknown>): Promise<() => Promise<void>> => {
  const tx = await pool.connect();
  await tx.query('begin');
  await work(tx as unknown as Pool);
  return async () => {
    await tx.query('commit');
    tx.release();
  };
};

const noRing = { 'lower-due': [], 'wake-leaders': [] };
export const noClientRing = { skip: { client: noRing } };
export const noPutBackRing = { skip: { dispatch: noRing } };

/** Rung by the net: for scenes whose client never rings. */
export const submitUnrung = async (stage: Stage, to: string, ...ids: string[]): Promise<void> => {
  for (const id of await stage.accept(to, ...ids)) stage.world.unrung.add(id);
  await stage.world.sweep();
  await stage.world.rest();
};

export const retryAll: typeof ok = (batch) => ({ results: batch.tasks.map(({ id }) => ({ id, status: 'retry' })) });
