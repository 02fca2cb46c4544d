import { LaterError } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import { Downstream, items, okay } from './downstream';

/** @full */

/** What a lane waits for after each refusal, in real time. */
const downstream = new Downstream();
const refusals = new Map<string, number>();
let muster: TestMuster;

beforeAll(async () => {
  downstream.answer = (batch) => {
    const left = refusals.get(batch.target) ?? 0;
    refusals.set(batch.target, left - 1);
    if (left > 0 && batch.attempt > 0) throw new LaterError('503');
    return okay(batch);
  };
  muster = await startMuster([downstream.handler()]);
});
afterAll(() => muster.stop());

const EARLY_MS = 50; // a call is planned by the database's clock, and seen by this process's
const LATE_MS = 10_000; // a busy machine; never for good

/** Two batches of a lane, of which the first is refused so many times: the calls of both. */
const callsAfter = async (service: string, times: number): Promise<{ batch: number; at: number }[]> => {
  refusals.set(service, times);
  const batches = await muster.client.submitBatches(
    'edits',
    [1, 2].map(() => ({ service, items: items(service) })),
  );
  const calls = (): { batch: number; at: number }[] => downstream.seen.filter((call) => call.service === service);
  await eventually(() => calls().length === times + 2, {
    timeoutMs: 180_000,
    what: `${times + 2} calls of ${service}`,
  });
  expect(calls().map(({ batch }) => batch)).toEqual([
    ...Array.from({ length: times + 1 }, () => batches[0]!.batch),
    batches[1]!.batch,
  ]);
  return calls();
};

const expectGaps = (calls: readonly { at: number }[], planned: readonly number[]): void => {
  for (const [i, ms] of planned.entries()) {
    const gap = calls[i + 1]!.at - calls[i]!.at;
    expect(gap).toBeGreaterThanOrEqual(ms - EARLY_MS);
    expect(gap).toBeLessThan(ms + LATE_MS);
  }
};

test('503, 503, 200: again after 250 and 750 ms, the next of the lane after it', async () => {
  expectGaps(await callsAfter('twice', 2), [250, 750, 0]);
  await expectWhole(muster.client);
});

test('refused for now ten times: then delayed for 15 s, at its place, never given up', async () => {
  const short = Array.from({ length: 9 }, (_, k) => 250 + 500 * k);
  expectGaps(await callsAfter('ten', 10), [...short, 15_000, 0]);
  await expectWhole(muster.client);
});
