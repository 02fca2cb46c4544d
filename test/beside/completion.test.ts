import { completeAccepted } from '../../activities/complete';
import type { ItemResult } from '../../activities/handlers';
import { takeReading } from '../../postgres/poll';
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
} from './accepting';

beforeAll(startAccepting);
afterAll(stopAccepting);
afterEach(behave);

describe('H7: completion from outside', () => {
  const complete = (reference: string, results: ItemResult[]): ReturnType<typeof completeAccepted> =>
    completeAccepted(muster().node.deps, { handler: 'plain', reference, results });

  test('settles the batch; a second one, and one for nothing, say so', async () => {
    const reference = await accept('plain', 'outside');
    expect(await complete(reference, oks(accepted.get(reference)!.ids))).toMatchObject({ written: true });
    expect(await states('outside')).toEqual(all('outside', 'succeeded 1'));
    await expect(complete(reference, [])).rejects.toThrow(
      /reference "outside\/1" of handler plain: there is no accepted batch, or it is over/,
    );
    await expect(complete('nothing', [])).rejects.toThrow('there is no accepted batch');
  });

  test('unreadable results settle nothing: the batch is asked about as before', async () => {
    const reference = await accept('plain', 'garbled');
    await expect(complete(reference, oks(['someone-else']))).rejects.toThrow(/someone-else.*not in this batch/);
    accepted.get(reference)!.status = 'done';
    await become('garbled', all('garbled', 'succeeded 1'));
  });

  test('a parked batch may still be completed', async () => {
    const reference = await accept('plain', 'parked');
    accepted.get(reference)!.status = 'lost';
    await become('parked', all('parked', 'unknown 1'));
    expect(await complete(reference, oks(accepted.get(reference)!.ids))).toMatchObject({ written: true });
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
    expect(await complete(reference, oks(accepted.get(reference)!.ids))).toMatchObject({ written: true });
    go();
    const [batch] = await query<{ id: number; attempt: number }>('select id, attempt from batch where reference = $1', [
      reference,
    ]);
    expect(await takeReading(muster().database.pool, batch!.id, batch!.attempt, 1_000)).toBeNull(); // over
    await become('overtaken', all('overtaken', 'succeeded 1'));
    expect((await muster().client.getTask('overtaken-1'))!.result).toBe('done overtaken-1');
  });
});
