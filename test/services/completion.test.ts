import type { ItemResult } from '../../handlers';
import type { CompletionAnswer } from '../../client';
import { claimRead } from '../../postgres/accepted/poll';
import { claimReads } from '../../postgres/accepted/readClaims';
import { lockAttempt } from '../../postgres/calls/settle';
import { eventually } from '../helpers/eventually';
import {
  accept,
  accepted,
  all,
  become,
  behave,
  muster,
  oks,
  query,
  startAccepting,
  states,
  stopAccepting,
} from './monitor/accepting';

/** @slow */

beforeAll(startAccepting);
afterAll(stopAccepting);
afterEach(behave);

describe('completion from outside [H7]', () => {
  const complete = (reference: string, results: ItemResult[]): Promise<CompletionAnswer> =>
    muster().client.complete('plain', { reference, results });

  test('settles the batch; a second one, and one for nothing, say so', async () => {
    const reference = await accept('plain', 'outside');
    const told = oks(accepted.get(reference)!.ids);
    const answer = { reference, state: 'succeeded', results: { ok: 3, retry: 0, failed: 0, unknown: 0 } };
    expect(await complete(reference, told)).toMatchObject({ ...answer, repeated: false });
    expect(await states('outside')).toEqual(all('outside', 'succeeded 1'));
    expect(await complete(reference, told)).toMatchObject({ ...answer, repeated: true });
    await expect(complete(reference, told.slice(1))).rejects.toMatchObject({
      code: 'COMPLETION_STALE',
      state: 'succeeded',
      message: expect.stringMatching(/^batch \d+ \(succeeded\): it has ended \(succeeded, 3 tasks\)/),
    });
    await expect(complete('nothing', [])).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('unreadable results settle nothing: the batch is asked about as before', async () => {
    const reference = await accept('plain', 'garbled');
    await expect(complete(reference, oks(['someone-else']))).rejects.toThrow(
      /^results: .*someone-else.*not in this batch.*Nothing was settled/,
    );
    accepted.get(reference)!.status = 'done';
    await become('garbled', all('garbled', 'succeeded 1'));
  });

  test('what cannot be stored is replaced and said, whether the results are told or read; the mates keep theirs', async () => {
    const results = (to: string): ItemResult[] => [
      { id: `${to}-0`, status: 'ok', result: { 'k\0': 'a\0\ud800b' } },
      { id: `${to}-1`, status: 'failed', error: 'e\0\udfff', result: [1n] },
      { id: `${to}-2`, status: 'ok', result: 'mate' },
    ];
    const told = await accept('plain', 'dirty-told');
    await complete(
      told,
      results('dirty-told').map((one) => (one.status === 'failed' ? { ...one, result: 'c\0' } : one)),
    );
    const read = await accept('plain', 'dirty-read');
    Object.assign(accepted.get(read)!, { status: 'done', results: () => results('dirty-read') });
    for (const [to, second] of [
      ['dirty-told', { result: 'c\ufffd', resultNote: /^1 character replaced/ }],
      ['dirty-read', { result: null, resultNote: /BigInt/ }],
    ] as const) {
      await become(to, { [`${to}-0`]: 'succeeded 1', [`${to}-1`]: 'failed 1', [`${to}-2`]: 'succeeded 1' });
      const tasks = await muster().client.getTasks([0, 1, 2].map((i) => `${to}-${i}`));
      expect(tasks[0]).toMatchObject({
        result: { 'k\ufffd': 'a\ufffd\ufffdb' },
        resultNote: expect.stringMatching(/^3 characters replaced/),
      });
      expect(tasks[1]).toMatchObject({
        error: 'e\ufffd\ufffd',
        result: second.result,
        resultNote: expect.stringMatching(second.resultNote),
      });
      expect(tasks[2]).toMatchObject({ result: 'mate' });
      expect(tasks[2]).not.toHaveProperty('resultNote');
    }
  });

  test('of two that would take the batch at once, one is refused as too early, and nothing of it is read', async () => {
    const { pool } = muster().database;
    const reference = await accept('rare', 'both');
    const [batch] = await query<{ id: number; attempt: number }>('select id, attempt from batch where reference = $1', [
      reference,
    ]);
    let read = 0;
    const told = function* (): Generator<ItemResult> {
      read++;
      yield* oks(accepted.get(reference)!.ids);
    };
    const holder = await pool.connect();
    await holder.query('begin');
    expect(await lockAttempt(holder, batch!.id, batch!.attempt)).not.toBeNull();
    const both = [1, 2].map(() => muster().client.complete('rare', { reference, results: told() }));
    const ended = Promise.allSettled(both);
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and query like '%update batch set attempt = attempt + 1%'`;
    await eventually(async () => (await pool.query(waiting)).rowCount === 2);
    await holder.query('rollback');
    holder.release();
    expect(await ended).toEqual(
      expect.arrayContaining([
        { status: 'fulfilled', value: expect.objectContaining({ state: 'succeeded', repeated: false }) },
        { status: 'rejected', reason: expect.objectContaining({ code: 'COMPLETION_TOO_EARLY' }) },
      ]),
    );
    expect(read).toBe(1);
  });

  test('of several batches that are claimed at once, each is only at the attempt that was seen of it', async () => {
    const find = async (target: string): Promise<{ id: number; attempt: number }> => {
      const text = 'select id, attempt from batch where reference = $1';
      return (await query<{ id: number; attempt: number }>(text, [await accept('rare', target)]))[0]!;
    };
    const [first, second] = [await find('claimed'), await find('passed')];
    // As if another process had claimed the second one since: it has the attempt of the first by
    // now.
    const seen = [first, { ...second, attempt: second.attempt - 1 }];
    expect([...(await claimReads(muster().database.pool, seen, 60_000))]).toEqual([[first.id, first.attempt + 1]]);
  });

  test('a parked batch may still be completed', async () => {
    const reference = await accept('plain', 'parked');
    accepted.get(reference)!.status = 'lost';
    await become('parked', all('parked', 'unknown 1'));
    expect(await complete(reference, oks(accepted.get(reference)!.ids))).toMatchObject({
      state: 'succeeded',
      repeated: false,
    });
    expect((await muster().client.getTask('parked-0'))!.state).toBe('succeeded');
  });

  test('a reader that was overtaken neither settles nor mixes its pages into the other’s', async () => {
    const reference = await accept('plain', 'overtaken');
    let go = (): void => undefined;
    let reading = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const begun = new Promise<void>((resolve) => (reading = resolve));
    const results = async function* (): AsyncGenerator<ItemResult> {
      reading();
      await gate;
      yield* ['overtaken-0', 'overtaken-1', 'overtaken-2'].map((id) => ({
        id,
        status: 'failed' as const,
        error: 'old news',
      }));
    };
    Object.assign(accepted.get(reference)!, { status: 'done', results });
    await begun;
    expect(await complete(reference, oks(accepted.get(reference)!.ids))).toMatchObject({
      state: 'succeeded',
      repeated: false,
    });
    go();
    const [batch] = await query<{ id: number; attempt: number }>('select id, attempt from batch where reference = $1', [
      reference,
    ]);
    expect(await claimRead(muster().database.pool, batch!.id, batch!.attempt, 1_000)).toBeNull(); // over
    await become('overtaken', all('overtaken', 'succeeded 1'));
    expect((await muster().client.getTask('overtaken-1'))!.result).toBe('done overtaken-1');
  });
});
