import { drain, twice } from '../checker';
import type { Scene, Stage } from '../scene';
import { noClientRing, noPutBackRing, submitUnrung } from '../steps';

/** One key for all: a batch holds one task, and no two batches are in flight (H6). */
const ONE_KEY: Scene['handler'] = { distinctBy: () => 'k', concurrency: { perTarget: 2 } };

/**
 * `second` arrives while `first` is about to be called; `meanwhile` before it is, and before a call
 * of `second`.
 */
const secondMeanwhile = async (
  stage: Stage,
  meanwhile: (held: { reached: Promise<void> }) => Promise<unknown>,
): Promise<void> => {
  const [first, second] = [1, 2].map(() => stage.world.hold('dispatch', 'before', 'read-dispatch'));
  await stage.submit('a', 'first');
  await first!.reached;
  await stage.submit('a', 'second');
  await meanwhile(second!);
  first!.open();
  second!.open();
};

/** The precautions for distinct keys. */
export const keyScenes: Scene[] = [
  {
    name: 'a key in flight keeps its other tasks out of batches',
    handler: ONE_KEY,
    without: {
      rewrite: (_, text) =>
        text.replace(
          'not exists (select from busy_key b where b.target_id = t.id and b.key = q.key and b.seq <> q.seq)',
          'true',
        ),
    },
    catches: 'twice',
    play: (stage, wrong) =>
      secondMeanwhile(stage, async (held) => {
        if (wrong) await held.reached; // the second one, too, is about to be called
        stage.found.push(...(await twice(stage.world.pool)));
      }),
  },
  {
    name: 'a key whose unknown outcome is resolved is rung',
    handler: { ...ONE_KEY, retry: { maxAttempts: 1, inPlace: { times: 0 } } },
    without: noClientRing,
    catches: 'lost',
    play: async (stage) => {
      // Put off first: a target that was held and whose keys are all taken is due never, too.
      stage.answers.push(() => ({ status: 'later', retryAfterMs: 1_000 }));
      stage.answers.push(() => Promise.reject(new Error('connection reset')));
      await submitUnrung(stage, 'a', 'first');
      await submitUnrung(stage, 'a', 'second');
      stage.found.push(...(await drain(stage.world))); // parked: the second one waits behind it, and is no finding
      await stage.world.client.resolve({ tasks: ['first'] }, { as: 'succeeded' });
    },
  },
  {
    name: 'a key that becomes free is rung',
    handler: ONE_KEY,
    without: noPutBackRing,
    catches: 'lost',
    play: (stage) => secondMeanwhile(stage, () => Promise.resolve()),
  },
];
