import type { SubmitAnswer } from '../../../handlers';
import type { TestMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';
import { startMuster } from '../../helpers/muster';
import { eventually } from '../../helpers/eventually';
import { Downstream, items, okay } from '../downstream';

/**
 * H5 in lanes: a downstream that is overloaded gets half as many calls at once, and one more after
 * each success.
 *
 * @slow
 */

/** Refuses for now as often as it is told to, then keeps its calls open until it is let go. */
class Throttled extends Downstream {
  refusals = 0;
  private gate = Promise.resolve();
  private release: () => void = () => undefined;

  constructor(scope: 'target' | 'handler') {
    super();
    this.answer = async (batch): Promise<SubmitAnswer> => {
      if (this.refusals-- > 0) return { status: 'later', retryAfterMs: 300, scope };
      await this.gate;
      return okay(batch);
    };
  }
  close(): void {
    this.mostInFlight = 0;
    this.gate = new Promise((resolve) => (this.release = resolve));
  }
  open(): void {
    this.release();
  }
}

const wide = new Throttled('target');
const whole = new Throttled('handler');
const unlimited = new Throttled('handler');
const others = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([
    wide.handler({ name: 'wide', lane: { approach: 'parallel' }, concurrency: { perTarget: 8 } }),
    whole.handler({ name: 'whole', concurrency: { perHandler: 4 } }),
    unlimited.handler({ name: 'unlimited' }),
    others.handler({ name: 'others' }),
  ]);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

let key = 0;
const submit = async (handler: string, services: readonly string[]): Promise<number[]> =>
  (
    await muster.client.submitBatches(
      handler,
      services.map((service) => ({ service, items: items(service, 1, { writes: [`k${++key}`] }) })),
    )
  ).map(({ batch }) => batch);
const committed = async (batches: readonly number[]): Promise<void> => {
  for (const batch of batches)
    await eventually(async () => (await muster.client.batchStatus(batch))?.status === 'committed', {
      what: async () => JSON.stringify(await muster.client.batchStatus(batch)),
    });
};
const same = (service: string, n: number): string[] => Array.from({ length: n }, () => service);
const lanes = (prefix: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${prefix}-${i}`);

test('of a target: half of its calls at once in its lane, which says so; plus one after each success, up to all [H5 C14]', async () => {
  const { client } = muster;
  wide.refusals = 1;
  wide.close();
  const batches = await submit('wide', ['wide-1']);
  await eventually(async () => (await client.lane('wide-1')).callsAllowed === 4);
  batches.push(...(await submit('wide', same('wide-1', 12))));
  await eventually(() => wide.inFlight === 4);
  const lane = await eventually(async () => {
    const found = await client.lane('wide-1', { batches: 20 });
    return found.holdInMs === null && found.state === 'back pressure' ? found : null;
  });
  expect(lane).toMatchObject({ pending: 4, callsAllowed: 4 });
  expect(lane.batches[4]!.explanation).toMatch(
    /limit of its handler.*back pressure left target "wide-1" 4 calls at once/,
  );
  expect(wide.mostInFlight).toBe(4);
  wide.open();
  await committed(batches);
  // 4 were in flight as reduced ones, and each later one.
  await eventually(
    async () =>
      (await muster.database.pool.query(`select from target where key = 'wide-1' and allowed is null`)).rowCount,
  );
  wide.close();
  const again = await submit('wide', same('wide-1', 12));
  await eventually(() => wide.inFlight === 8);
  expect((await client.lane('wide-1')).callsAllowed).toBeNull();
  wide.open();
  await committed(again);
  expect(wide.mostInFlight).toBe(8);
});

test('of a handler: half of its calls over all its lanes, however many wait; lanes of others go on [H5 C3]', async () => {
  const { client } = muster;
  whole.refusals = 1;
  whole.close();
  const first = await submit('whole', ['whole-first']);
  await eventually(async () => (await client.queuer())[0]!.reduced.length === 1);
  const many = await submit('whole', lanes('whole', 60));
  await eventually(() => whole.inFlight === 2);
  const [queuer] = await client.queuer();
  expect(queuer!.reduced).toEqual([{ handler: 'whole', calls: 2, of: 4 }]);
  await eventually(async () => (await client.queuer())[0]!.held > 0);
  await committed(await submit('others', lanes('other', 5)));
  expect(whole.mostInFlight).toBe(2);
  const held = await eventually(async () =>
    (await client.lanes({ after: 'whole' })).find((lane) => lane.state === 'back pressure' && lane.holdInMs === null),
  );
  expect((await client.lane(held.service)).batches[0]!.explanation).toMatch(
    /back pressure left handler "whole" 2 calls/,
  );
  whole.open();
  await committed([...first, ...many]);
  await eventually(async () => (await client.queuer())[0]!.reduced.length === 0);
  expect(whole.mostInFlight).toBeLessThanOrEqual(4);
  whole.close();
  const again = await submit('whole', lanes('whole', 6));
  await eventually(() => whole.inFlight === 4);
  whole.open();
  await committed(again);
});

test('a handler without a limit is halved from the slots of its queuer, and recovers up to them [H5]', async () => {
  const { client } = muster;
  await client.setQueuer({ slots: 6 });
  unlimited.refusals = 1;
  unlimited.close();
  const batches = await submit('unlimited', ['free-0']);
  await eventually(async () => (await client.queuer())[0]!.reduced.length === 1);
  expect((await client.queuer())[0]!.reduced).toEqual([{ handler: 'unlimited', calls: 3, of: 6 }]);
  batches.push(...(await submit('unlimited', lanes('free', 20))));
  await eventually(() => unlimited.inFlight === 3);
  await eventually(async () => (await client.queuer())[0]!.held > 0);
  expect(unlimited.mostInFlight).toBe(3);
  unlimited.open();
  await committed(batches);
  await eventually(async () => (await client.queuer())[0]!.reduced.length === 0);
  expect(unlimited.mostInFlight).toBeLessThanOrEqual(6);
});

test('a lane that sends one after the other has nothing to halve [H5]', async () => {
  const { client } = muster;
  wide.refusals = 0;
  others.answer = (batch, _, times) => (times === 0 ? { status: 'later', retryAfterMs: 20 } : okay(batch));
  await committed(await submit('others', ['one-by-one']));
  expect((await client.lane('one-by-one')).callsAllowed).toBeNull();
  const { rowCount } = await muster.database.pool.query('select from target where allowed is not null');
  expect(rowCount).toBe(0);
});
