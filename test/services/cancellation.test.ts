import { defineHandler, LaterError, RejectedError } from '../../handlers';
import type { CancelAnswer, Handler, HandlerOptions, ItemResult, ReferenceStatus } from '../../handlers';
import type { BatchView } from '../../client/views';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { expectPermitted, recordMoves } from '../helpers/transitions/recorded';
import { expectWhole } from '../helpers/whole';
import { startMuster } from '../helpers/muster';

/**
 * Accepted batches that are given up: by a caller, at their deadline, by a decision. The downstream
 * is this process; each test has a target.
 *
 * @slow
 */

interface Job {
  ids: string[];
  status: ReferenceStatus['status'];
  results: ItemResult[];
  /** What `cancel` answers or throws, call by call; after the last one it agrees. */
  answers: ((job: Job) => CancelAnswer)[];
  cancels: number;
}
const jobs = new Map<string, Job>();
/** Answers of the jobs of a target that were not accepted yet. */
const scripts = new Map<string, Job['answers']>();

const jobOf = (reference: string): Job => jobs.get(reference)!;
const define = (name: string, more: Partial<HandlerOptions<{ to: string }>> = {}): Handler =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 8 },
    linger: { lingerMs: 20 },
    retry: { delayed: { baseMs: 50, maxMs: 100 }, maxAttempts: 3 },
    poll: { everyMs: 100, deadlineMs: 600_000 },
    submit: async ({ target, tasks }) => {
      const reference = `${target}/${[...jobs.keys()].filter((key) => key.startsWith(`${target}/`)).length + 1}`;
      const ids = tasks.map(({ id }) => id);
      jobs.set(reference, {
        ids,
        status: 'pending',
        results: [],
        answers: [...(scripts.get(target) ?? [])],
        cancels: 0,
      });
      return { status: 'accepted', reference };
    },
    status: async (references) => references.map((reference) => ({ reference, status: jobOf(reference).status })),
    results: (reference) => jobOf(reference).results,
    cancel: async (reference) => {
      const job = jobOf(reference);
      job.cancels++;
      return job.answers.shift()?.(job);
    },
    ...more,
  });

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([
    define('plain'),
    define('hasty', { poll: { everyMs: 100, deadlineMs: 300 } }),
    define('again', { poll: { everyMs: 100, deadlineMs: 300 }, onUnknown: 'resend' }),
    define('keyed', {
      poll: { everyMs: 100, deadlineMs: 300 },
      idempotency: { by: 'batch' },
      retry: { maxAttempts: 2 },
    }),
    define('mute', { cancel: undefined }),
    define('lane', { service: (target) => target }),
  ]);
  await recordMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

const idsOf = (target: string, n = 3): string[] => Array.from({ length: n }, (_, i) => `${target}-${i}`);
/** Submits tasks of a target in one batch and answers the batch's number once it was accepted. */
const accept = async (handler: string, target: string, ...answers: Job['answers']): Promise<number> => {
  scripts.set(target, answers);
  await muster.client.submit(
    handler,
    idsOf(target).map((id) => ({ id, payload: { to: target } })),
  );
  return eventually(async () => {
    const task = await muster.client.getTask(`${target}-0`);
    const view = task?.batch == null ? null : await muster.client.batch(task.batch);
    return view?.reference == null ? null : view.id;
  });
};
const states = async (target: string): Promise<string[]> =>
  (await muster.client.getTasks(idsOf(target))).map((task) => task.state);
const become = (target: string, expected: string[]): Promise<unknown> =>
  eventually(async () => JSON.stringify(await states(target)) === JSON.stringify(expected), {
    what: async () => `${JSON.stringify(expected)}, it is ${JSON.stringify(await states(target))}`,
  });
const cancellationOf = async (batch: number): Promise<BatchView['cancellation']> =>
  (await muster.client.batch(batch))!.cancellation;
const cancellationBecomes = (batch: number, state: string): Promise<unknown> =>
  eventually(async () => (await cancellationOf(batch))?.state === state, {
    what: async () => `cancellation ${state}, it is ${JSON.stringify(await cancellationOf(batch))}`,
  });
const explained = async (id: string): Promise<string> => (await muster.client.explain(id)).text;

describe('a caller cancels a batch that the downstream has accepted', () => {
  test('it agrees: what it did before counts, the rest ends cancelled and is never sent again', async () => {
    const batch = await accept('plain', 'stopped');
    expect(await muster.client.cancelBatch(batch)).toEqual({
      batch,
      service: null,
      tasks: [],
      cancellation: 'requested',
    });
    await cancellationBecomes(batch, 'confirmed');
    expect(await states('stopped')).toEqual(['in-progress', 'in-progress', 'in-progress']);
    expect(await explained('stopped-0')).toMatch(/accepted batch .* The downstream agreed to cancel it, on request\.$/);
    Object.assign(jobOf('stopped/1'), { results: [{ id: 'stopped-1', status: 'ok' }], status: 'expired' });
    await become('stopped', ['cancelled', 'succeeded', 'cancelled']);
    expect(await explained('stopped-0')).toMatch(/^Cancelled after the downstream had accepted it: /);
    expect(await cancellationOf(batch)).toMatchObject({
      state: 'confirmed',
      cause: 'caller',
      reference: 'stopped/1',
      tries: 1,
      error: null,
    });
    expect(jobs.has('stopped/2')).toBe(false);
    expect(jobOf('stopped/1').cancels).toBe(1);
  });

  test('failed after it: nothing was applied, so all are cancelled and none is bisected', async () => {
    const batch = await accept('plain', 'failed', (job) => void (job.status = 'failed'));
    await muster.client.cancelBatch(batch);
    await become('failed', ['cancelled', 'cancelled', 'cancelled']);
    expect(jobs.has('failed/2')).toBe(false);
  });

  test('by the ids of all of its tasks; of some, it is not', async () => {
    const batch = await accept('plain', 'named');
    const some = await muster.client.cancel(idsOf('named', 2));
    expect(some.notCancelled[0]).toMatchObject({
      batch,
      why: `in batch ${batch} with 1 task not named here; cancel the batch, or name all of its tasks`,
    });
    const all = await muster.client.cancel(idsOf('named'));
    expect(all.notCancelled).toHaveLength(3);
    expect(all.notCancelled[0]).toMatchObject({
      state: 'in-progress',
      batch,
      why: `the downstream is being asked to cancel it (batch ${batch})`,
    });
    await cancellationBecomes(batch, 'confirmed');
    jobOf('named/1').status = 'expired'; // or it is asked about ten times a second to the end
    await become('named', ['cancelled', 'cancelled', 'cancelled']);
  });

  test('it answers only the third time: asked until then, with its reason to be seen, and once no more', async () => {
    const fails = (): never => {
      throw new Error('HTTP 500');
    };
    const busy = (): never => {
      throw new LaterError('busy', { retryAfterMs: 1_200 });
    };
    const batch = await accept('plain', 'twice', fails, busy);
    await muster.client.cancelBatch(batch);
    await eventually(async () =>
      /has not answered \(1 call, again in .*: HTTP 500\.$/.test(await explained('twice-0')),
    );
    await cancellationBecomes(batch, 'confirmed');
    expect(jobOf('twice/1').cancels).toBe(3);
    expect(await muster.client.cancelBatch(batch)).toMatchObject({ cancellation: 'confirmed' });
    jobOf('twice/1').status = 'expired';
    await become('twice', ['cancelled', 'cancelled', 'cancelled']);
    expect(jobOf('twice/1').cancels).toBe(3);
  });

  test.each([
    [
      'refused',
      () => ({ status: 'refused' as const, error: 'it is being printed' }),
      /refused to cancel it: it is being printed\./,
    ],
    [
      'thrown',
      () => {
        throw new RejectedError('never');
      },
      /refused to cancel it: never\./,
    ],
    ['late', () => ({ status: 'late' as const, error: 'it ended at noon' }), /came too late: it ended at noon\./],
  ])('%s: a state of its own, and the batch goes on', async (target, answer, text) => {
    const batch = await accept('plain', target, answer);
    await muster.client.cancelBatch(batch);
    await cancellationBecomes(batch, target === 'thrown' ? 'refused' : target);
    expect(await explained(`${target}-0`)).toMatch(text);
    Object.assign(jobOf(`${target}/1`), { results: idsOf(target).map((id) => ({ id, status: 'ok' })), status: 'done' });
    await become(target, ['succeeded', 'succeeded', 'succeeded']);
  });

  test('agreed to, and applied in full all the same: late', async () => {
    const batch = await accept('plain', 'outrun');
    await muster.client.cancelBatch(batch);
    await cancellationBecomes(batch, 'confirmed');
    Object.assign(jobOf('outrun/1'), { results: idsOf('outrun').map((id) => ({ id, status: 'ok' })), status: 'done' });
    await become('outrun', ['succeeded', 'succeeded', 'succeeded']);
    expect(await cancellationOf(batch)).toMatchObject({ state: 'late' });
  });

  test('what cannot be: its handler defines no cancel, it has ended, there is none', async () => {
    const batch = await accept('mute', 'mute');
    const refused = {
      code: 'NOT_CANCELLABLE',
      message: expect.stringMatching(/handler "mute" defines no cancel/) as string,
    };
    await expect(muster.client.cancelBatch(batch)).rejects.toMatchObject(refused);
    Object.assign(jobOf('mute/1'), { results: idsOf('mute').map((id) => ({ id, status: 'ok' })), status: 'done' });
    await become('mute', ['succeeded', 'succeeded', 'succeeded']);
    await expect(muster.client.cancelBatch(batch)).rejects.toThrow(/it has ended/);
    await expect(muster.client.cancelBatch(987_654)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('in a lane: it ends cancelled and the lane goes on', async () => {
    const batch = await accept('lane', 'ordered', (job) => void (job.status = 'expired'));
    await muster.client.submit('lane', { id: 'ordered-next', payload: { to: 'ordered' } });
    expect(await muster.client.cancelBatch(batch)).toMatchObject({ service: 'ordered', cancellation: 'requested' });
    await become('ordered', ['cancelled', 'cancelled', 'cancelled']);
    expect(await muster.client.batchStatus(batch)).toMatchObject({ status: 'cancelled' });
    Object.assign(await eventually(() => jobs.get('ordered/2')), {
      results: [{ id: 'ordered-next', status: 'ok' }],
      status: 'done',
    });
    await eventually(async () => (await muster.client.getTask('ordered-next'))!.state === 'succeeded');
  });
});

describe('given up without a caller', () => {
  test('parked at its deadline: the downstream is asked to stop it, and the parked task says what came of that', async () => {
    const batch = await accept('hasty', 'overdue');
    await become('overdue', ['unknown', 'unknown', 'unknown']);
    await cancellationBecomes(batch, 'confirmed');
    expect(await cancellationOf(batch)).toMatchObject({ cause: 'deadline', reference: 'overdue/1' });
    expect(await explained('overdue-0')).toMatch(
      /It is parked.* agreed to cancel it, since its deadline had passed\.$/,
    );
    await muster.client.resolve({ batch }, { as: 'failed' });
    expect(jobOf('overdue/1').cancels).toBe(1);
  });

  test('sent again without a key: the first one is stopped, the second is not', async () => {
    await accept('again', 'resent');
    const second = await eventually(() => jobs.get('resent/2'));
    Object.assign(second, { results: idsOf('resent').map((id) => ({ id, status: 'ok' })), status: 'done' });
    await become('resent', ['succeeded', 'succeeded', 'succeeded']);
    await eventually(() => jobOf('resent/1').cancels === 1);
    expect(second.cancels).toBe(0);
  });

  test('sent again under its key: nothing is stopped before it is parked', async () => {
    const batch = await accept('keyed', 'keyed');
    await eventually(() => jobs.get('keyed/2'));
    expect(jobOf('keyed/1').cancels).toBe(0);
    await become('keyed', ['unknown', 'unknown', 'unknown']);
    await cancellationBecomes(batch, 'confirmed');
    expect([jobOf('keyed/1').cancels, jobOf('keyed/2').cancels]).toEqual([0, 1]);
  });

  test.each([
    ['failed', 1],
    ['created', 1],
    ['succeeded', 0],
  ] as const)('resolved as %s: stopped %i times', async (as, times) => {
    const target = `resolved-${as}`;
    const batch = await accept('plain', target);
    jobOf(`${target}/1`).status = 'lost'; // nothing was asked to stop then
    await become(target, ['unknown', 'unknown', 'unknown']);
    expect(await cancellationOf(batch)).toBeNull();
    await muster.client.resolve({ batch }, { as });
    const { rows } = await muster.database.pool.query('select why from cancellation where batch_id = $1', [batch]);
    expect(rows).toEqual(times === 0 ? [] : [{ why: 2 }]);
    if (times > 0) await eventually(() => jobOf(`${target}/1`).cancels === times);
  });
});

// Last: it judges what the tests before it made.
test('each change of a state is one that the table of transitions permits', () =>
  expectPermitted(muster.database.pool, ['task: in-progress -> cancelled']));
