import { eventually } from '../../helpers/eventually';
import { twice } from './checker';
import type { Scene, Stage } from './scene';
import { noPutBackRing } from './steps';

/** One key for all: a batch holds one task, and no two batches are in flight (H6). */
const ONE_KEY: Scene['handler'] = { distinctBy: () => 'k', concurrency: { perTarget: 2 } };

/** `second` arrives while `first` is about to be called; `meanwhile` before it is. */
const secondMeanwhile = async (stage: Stage, meanwhile: () => Promise<unknown>): Promise<void> => {
  const held = stage.world.hold('submission', 'before', 'read-dispatch');
  await stage.submit('a', 'first');
  await held.reached;
  await stage.submit('a', 'second');
  await meanwhile();
  held.open();
};

const batches = async ({ world: { pool } }: Stage): Promise<number> =>
  (await pool.query<{ n: number }>('select count(*)::int as n from batch')).rows[0]!.n;

/** The precautions for distinct keys. */
export const keyScenes: Scene[] = [
  {
    name: 'a key in flight keeps its other tasks out of batches',
    handler: ONE_KEY,
    without: {
      rewrite: (_, text) => text.replace('not exists (select from busy_key b where b.target_id = t.id and b.key = q.key and b.seq <> q.seq)', 'true'), // prettier-ignore
    },
    catches: 'twice',
    play: (stage, wrong) =>
      secondMeanwhile(stage, async () => {
        if (wrong) await eventually(async () => (await batches(stage)) === 2);
        stage.found.push(...(await twice(stage.world.pool)));
      }),
  },
  {
    name: 'a key that becomes free is rung',
    handler: ONE_KEY,
    without: noPutBackRing,
    catches: 'lost',
    play: (stage) => secondMeanwhile(stage, () => Promise.resolve()),
  },
];
