import type { ItemResult } from '../../handlers';
import { lateAnswer } from '../helpers/lateAnswer';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectPermitted, recordMoves } from '../helpers/transitions/recorded';
import { expectWhole } from '../helpers/whole';
import { reachesStatus } from '../helpers/reachesStatus';
import { acceptedIn, answers, calls, handlers, ids, oks } from './acceptingHandlers';

/** H7: completion by the client. The downstream only accepts; nobody can ask it. @slow */

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster(handlers);
  await recordMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

/** Submits n tasks of a target in one batch; answers it once it was accepted. */
const accept = async (handler: string, to: string, n = 3): Promise<{ batchId: number; reference: string }> => {
  await muster.client.submit(
    handler,
    ids(to, n).map((id) => ({ id, payload: { to } })),
  );
  return acceptedAgain(to, 0);
};
/** The batch of a target that is accepted and has a number above this one. */
const acceptedAgain = async (to: string, after: number) => (await acceptedBatches(to, after, 1))[0]!;
const acceptedBatches = (to: string, after: number, count: number) =>
  acceptedIn(muster.database.pool, to, after, count);
const states = async (to: string, n = 3): Promise<string[]> =>
  (await muster.client.getTasks(ids(to, n))).map(({ state }) => state);
const complete = (handler: string, told: Parameters<TestMuster['client']['complete']>[1]) =>
  muster.client.complete(handler, told);

describe('without a lane [H7]', () => {
  test('completes by reference or number; a repeat answers the same; anything else is stale and says the state [H7]', async () => {
    const { batchId, reference } = await accept('plain', 'one');
    const results = oks(ids('one', 3));
    const answer = {
      batch: batchId,
      reference,
      state: 'succeeded',
      results: { ok: 3, retry: 0, failed: 0, unknown: 0 },
    };
    expect(await complete('plain', { reference, results })).toEqual({ ...answer, repeated: false });
    expect(await complete('plain', { batchId, results })).toEqual({ ...answer, repeated: true });
    await expect(complete('plain', { batchId, status: 'failed', error: 'late' })).rejects.toMatchObject({
      code: 'COMPLETION_STALE',
      batch: batchId,
      state: 'succeeded',
    });
    expect((await muster.client.getTask('one-1'))!.result).toBe('done one-1');
    expect((await muster.client.getTask('one-1'))!.attempts).toBe(1);
  });

  test('per-item results: failed, retried, unknown, and a task without a result becomes unknown [H1 H2]', async () => {
    const { reference, batchId } = await accept('plain', 'mixed', 5);
    const results: ItemResult[] = [
      { index: 0, status: 'ok' },
      { id: 'mixed-1', status: 'failed', error: 'no such account' },
      { id: 'mixed-2', status: 'retry', error: 'busy' },
      { index: 3, status: 'unknown' },
    ];
    expect(await complete('plain', { reference, results })).toMatchObject({
      state: 'succeeded',
      results: { ok: 1, retry: 1, failed: 1, unknown: 2 },
    });
    const again = await acceptedAgain('mixed', batchId);
    expect(await states('mixed', 5)).toEqual(['succeeded', 'failed', 'in-progress', 'unknown', 'unknown']);
    expect((await muster.client.getTask('mixed-1'))!.error).toBe('no such account');
    await complete('plain', { ...again, reference: undefined, results: [{ index: 0, status: 'ok' }] } as never);
    expect((await states('mixed', 5))[2]).toBe('succeeded');
  });

  test('expired keeps the partial results and tries the rest again; failed is a refusal for the content (H4) [H7]', async () => {
    const { reference, batchId } = await accept('plain', 'expired');
    expect(
      await complete('plain', { reference, status: 'expired', results: oks(['expired-0']), error: '24 h' }),
    ).toMatchObject({ results: { ok: 1, retry: 2 } });
    const rest = await acceptedAgain('expired', batchId);
    expect(calls.filter(({ target }) => target === 'expired').at(-1)!.ids).toEqual(['expired-1', 'expired-2']);
    const failed = { batchId: rest.batchId, status: 'failed' as const, error: 'line 2 is no JSON' };
    expect(await complete('plain', failed)).toMatchObject({ state: 'dissolved', results: null, repeated: false });
    expect(await complete('plain', failed)).toMatchObject({ state: 'dissolved', repeated: true });
    // Its halves, each a separate batch.
    const [half, other] = await acceptedBatches('expired', rest.batchId, 2);
    await complete('plain', { batchId: half!.batchId, status: 'failed', error: 'again' });
    await complete('plain', { batchId: other!.batchId, results: [{ index: 0, status: 'ok' }] });
    await eventually(async () => (await states('expired')).join() === 'succeeded,failed,succeeded');
  });

  test('errors are typed and name the field; nothing is settled by them', async () => {
    const { reference, batchId } = await accept('plain', 'wrong');
    const wrong = (told: object, code: string, message: RegExp) =>
      expect(complete('plain', told as never)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    await wrong({ results: [] }, 'INVALID_COMPLETION', /^reference: expected either a reference or a batchId/);
    await wrong({ reference, batchId, results: [] }, 'INVALID_COMPLETION', /^reference: .*got "both"/);
    await wrong({ batchId: -1, results: [] }, 'INVALID_COMPLETION', /^batchId: /);
    await wrong({ reference }, 'INVALID_COMPLETION', /^results: expected an array.*got nothing/);
    await wrong(
      { reference, status: 'lost' },
      'INVALID_COMPLETION',
      /^status: expected done, expired, failed, got "lost"/,
    );
    await wrong({ reference, results: [] }, 'INVALID_COMPLETION', /^results: .*expected 3, got none/);
    await wrong(
      { reference, results: oks(['stranger']) },
      'INVALID_COMPLETION',
      /^results: .*"stranger".*not in this batch of 3/,
    );
    await wrong({ reference, results: oks(['wrong-0', 'wrong-0']) }, 'INVALID_COMPLETION', /^results: .*two results/);
    await wrong({ reference, results: [{ index: 0, status: 'fine' }] }, 'INVALID_COMPLETION', /^results: .*"fine"/);
    await wrong(
      { reference, results: [{ index: 0, status: 'ok', result: 'x'.repeat(1_000_001) }] },
      'INVALID_COMPLETION',
      /^results\[0\]: expected at most 1000000 bytes/,
    );
    await wrong(
      { reference, results: [{ index: 0, status: 'ok', result: 1n }] },
      'INVALID_COMPLETION',
      /^results\[0\]: .*JSON/,
    );
    await wrong({ reference: 'nowhere', results: [] }, 'NOT_FOUND', /^Reference "nowhere"/);
    await wrong({ batchId: 999_999, results: [] }, 'NOT_FOUND', /^Batch "999999"/);
    await expect(complete('big', { batchId, results: oks(['wrong-0']) })).rejects.toMatchObject({ code: 'NOT_FOUND' }); // of another handler
    await expect(complete('none', { batchId, results: [] })).rejects.toMatchObject({ code: 'UNKNOWN_HANDLER' });
    expect(await states('wrong')).toEqual(['in-progress', 'in-progress', 'in-progress']);
    expect(await complete('plain', { reference, results: oks(ids('wrong', 3)) })).toMatchObject({ repeated: false });
  });

  test('a stream that breaks off settles nothing, and its error is the caller’s', async () => {
    const { batchId } = await accept('plain', 'broken');
    const results = async function* (): AsyncGenerator<ItemResult> {
      yield { index: 0, status: 'ok', result: 'half told' };
      throw new Error('the file ends here');
    };
    await expect(complete('plain', { batchId, results: results() })).rejects.toThrow(/^the file ends here$/);
    expect(await states('broken')).toEqual(['in-progress', 'in-progress', 'in-progress']);
    await complete('plain', { batchId, results: ids('broken', 3).map((id) => ({ id, status: 'ok' })) });
    expect((await muster.client.getTask('broken-0'))!.result).toBeUndefined();
  });

  test('two at once: it counts once, and both are answered the same', async () => {
    const { batchId } = await accept('plain', 'twice');
    const told = () => complete('plain', { batchId, results: oks(ids('twice', 3)) });
    const tellUntilHeard = () =>
      eventually(() =>
        told().catch((error: { code?: string }) =>
          error.code === 'COMPLETION_TOO_EARLY' ? null : Promise.reject(error as Error),
        ),
      );
    const both = await Promise.all(Array.from({ length: 8 }, tellUntilHeard));
    expect(both.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(new Set(both.map(({ state, results }) => JSON.stringify([state, results])))).toHaveProperty('size', 1);
    expect((await muster.client.getTask('twice-0'))!.attempts).toBe(1);
  });

  test('before the acceptance is written it is refused as too early, never lost: the same counts right after [H7]', async () => {
    const gate = lateAnswer();
    answers.set('early', async (batch) => {
      await gate.promise;
      return { status: 'accepted', reference: `early/${batch.id}` };
    });
    await muster.client.submit(
      'plain',
      ids('early', 2).map((id) => ({ id, payload: { to: 'early' } })),
    );
    const batchId = Number(await eventually(async () => (await muster.client.getTask('early-0'))!.batch));
    await eventually(() => calls.some(({ target }) => target === 'early'));
    const results = oks(ids('early', 2));
    const early = { code: 'COMPLETION_TOO_EARLY', retryAfterMs: 1_000 };
    await expect(complete('plain', { batchId, results })).rejects.toMatchObject(early);
    await expect(complete('plain', { reference: `early/${batchId}`, results })).rejects.toMatchObject(early);
    gate.open();
    await acceptedAgain('early', 0);
    expect(await complete('plain', { reference: `early/${batchId}`, results })).toMatchObject({ state: 'succeeded' });
    expect(await states('early', 2)).toEqual(['succeeded', 'succeeded']);
  });

  test('a call whose outcome is unknown is completed by the number of its batch [H3]', async () => {
    answers.set('lost', () => Promise.reject(new Error('socket hang up')));
    await muster.client.submit(
      'plain',
      ids('lost', 3).map((id) => ({ id, payload: { to: 'lost' } })),
    );
    await eventually(async () => (await states('lost')).join() === 'unknown,unknown,unknown');
    const batchId = Number((await muster.client.getTask('lost-0'))!.batch);
    await expect(complete('plain', { batchId, status: 'failed' })).rejects.toMatchObject({
      code: 'COMPLETION_STALE',
      state: 'unknown',
    });
    await muster.client.resolve({ tasks: ['lost-2'] }, { as: 'failed' });
    await expect(complete('plain', { batchId, results: oks(['lost-0', 'lost-1']) })).rejects.toThrow(
      /resolved manually/,
    );
    answers.set('lost2', () => Promise.reject(new Error('socket hang up')));
    await muster.client.submit('plain', { id: 'lost2-0', payload: { to: 'lost2' } });
    await eventually(async () => (await states('lost2', 1)).join() === 'unknown');
    const other = Number((await muster.client.getTask('lost2-0'))!.batch);
    expect(await complete('plain', { batchId: other, results: oks(['lost2-0']) })).toMatchObject({
      state: 'succeeded',
    });
    expect(await states('lost2', 1)).toEqual(['succeeded']);
  });

  test('what a batch held is free again: the next one goes [H6]', async () => {
    await muster.client.submit(
      'heavy',
      ids('w', 2).map((id) => ({ id, payload: { to: 'w' } })),
    );
    const first = await acceptedAgain('w', 0);
    expect(calls.filter(({ target }) => target === 'w')).toHaveLength(1);
    await complete('heavy', { batchId: first.batchId, results: [{ index: 0, status: 'ok' }] });
    const second = await acceptedAgain('w', first.batchId);
    await complete('heavy', { batchId: second.batchId, results: [{ index: 0, status: 'ok' }] });
  });

  test('results from a stream, by pages of 1,000 [H8]', async () => {
    const n = 2_500;
    const { batchId } = await accept('big', 'b', n);
    const stream = async function* (): AsyncGenerator<ItemResult> {
      yield* ids('b', n).map((id) => ({ id, status: 'ok' as const, result: { of: id } }));
    };
    expect(await complete('big', { batchId, results: stream() })).toMatchObject({
      results: { ok: n },
      repeated: false,
    });
    expect(await complete('big', { batchId, results: stream() })).toMatchObject({ results: { ok: n }, repeated: true });
    expect((await muster.client.batch(batchId, { members: 1 }))!.resultPages).toBe(3);
    expect((await muster.client.getTask('b-2499'))!.result).toEqual({ of: 'b-2499' });
  });
});

describe('in a lane [H7]', () => {
  const submit = async (service: string) =>
    (
      await muster.client.submitBatch(
        'lane',
        service,
        [0, 1].map((i) => ({ id: `${service}-${i}`, payload: { to: service } })),
      )
    ).batch;

  test('committed, and the lane goes on; invalid with the receipt of each item, and the lane halts (C19) [H7]', async () => {
    const first = await submit('po');
    const second = (await muster.client.submitBatch('lane', 'po', [{ id: 'po-2', payload: { to: 'po' } }])).batch;
    await reachesStatus(muster.client, first, 'pending');
    expect((await muster.client.batchStatus(second))!.status).toBe('unsubmitted');
    const told = { batchId: first, results: oks(['po-0', 'po-1']) };
    expect(await complete('lane', told)).toMatchObject({ state: 'succeeded', results: { ok: 2 } });
    expect((await muster.client.batchStatus(first))!.status).toBe('committed');
    await reachesStatus(muster.client, second, 'pending');
    expect(await complete('lane', told)).toMatchObject({ repeated: true });
    const { reference } = (await muster.client.batchStatus(second))!;
    const refused = {
      reference: reference!,
      results: [{ index: 0, status: 'failed' as const, error: 'price below 0', result: { line: 7 } }],
    };
    expect(await complete('lane', refused)).toMatchObject({ results: { failed: 1 } });
    expect((await muster.client.batchStatus(second))!.status).toBe('invalid');
    expect(await muster.client.lane('po')).toMatchObject({ state: 'halted' });
    expect((await muster.client.getTask('po-2'))!).toMatchObject({
      state: 'failed',
      error: 'price below 0',
      result: { line: 7 },
    });
    await muster.client.skipHead('po');
  });

  test('a batch that halts its lane as unknown is completed by its number: the lane goes on [C28]', async () => {
    answers.set('mute', () => Promise.reject(new Error('no answer')));
    const first = await submit('mute');
    await reachesStatus(muster.client, first, 'parked');
    const second = (await muster.client.submitBatch('lane', 'mute', [{ id: 'mute-2', payload: { to: 'mute' } }])).batch;
    expect(await muster.client.lane('mute')).toMatchObject({ state: 'halted' });
    answers.delete('mute');
    await complete('lane', { batchId: first, results: oks(['mute-0', 'mute-1']) });
    expect((await muster.client.batchStatus(first))!.status).toBe('committed');
    await reachesStatus(muster.client, second, 'pending');
    await complete('lane', { batchId: second, results: oks(['mute-2']) });
  });
});

// Last: it judges what the tests before it made.
test('each change of a state is one that the table of transitions permits', () =>
  expectPermitted(muster.database.pool, [
    'batch: unknown -> succeeded',
    'task: unknown -> failed',
    'task: unknown -> succeeded',
  ]));
