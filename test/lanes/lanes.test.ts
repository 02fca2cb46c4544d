import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import { Downstream, items } from './downstream';

/** Batches given to lanes, on real servers: in order, fairly, each to its own service. */

const downstream = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([downstream.handler()]);
});
afterAll(() => muster.stop());

test('batches of a service are sent in the order in which they were submitted, one after the other [C1]', async () => {
  const { client } = muster;
  const ids: string[] = [];
  const batches: number[] = [];
  for (let i = 0; i < 30; i++) {
    const some = items('po-1', 2);
    ids.push(...some.map(({ id }) => id));
    batches.push((await client.submitBatch('edits', 'po-1', some)).batch);
  }
  await client.waitFor(ids, { timeoutMs: 60_000 });
  expect(downstream.seen.map(({ batch }) => batch)).toEqual(batches);
  expect(downstream.seen.flatMap((call) => call.ids)).toEqual(ids);
  expect(downstream.mostInFlight).toBe(1);
  await expectWhole(client);
});

test('lanes of several services go beside each other, each in its order', async () => {
  const { client } = muster;
  const services = Array.from({ length: 20 }, (_, i) => `many-${i}`);
  const given = new Map<string, number[]>();
  const ids: string[] = [];
  for (let round = 0; round < 5; round++)
    for (const service of services) {
      const some = items(service);
      ids.push(...some.map(({ id }) => id));
      given.set(service, [...(given.get(service) ?? []), (await client.submitBatch('edits', service, some)).batch]);
    }
  await client.waitFor(ids, { timeoutMs: 60_000 });
  for (const service of services)
    expect(downstream.seen.filter((call) => call.service === service).map(({ batch }) => batch)).toEqual(
      given.get(service),
    );
  expect((await client.verify({ full: true })).ok).toBe(true);
});

test('the longest linger that a target may have holds up no other lane, and a flush ends it', async () => {
  const { client } = muster;
  const editOf = (id: string, service: string) => ({ id, payload: { service } });
  await client.submitBatch('edits', 'month', [editOf('month-0', 'month')]);
  await client.waitFor('month-0');
  await client.setTarget('edits', 'month', { lingerMs: 30 * 86_400_000 });
  await client.submit('edits', editOf('month-1', 'month'));
  await client.submitBatch('edits', 'other', [editOf('other-1', 'other')]);
  expect(await client.waitFor('other-1', { timeoutMs: 30_000 })).toMatchObject([{ state: 'succeeded' }]);
  expect(await client.getTask('month-1')).toMatchObject({ state: 'created' });
  await client.flush('edits', 'month');
  expect(await client.waitFor('month-1', { timeoutMs: 30_000 })).toMatchObject([{ state: 'succeeded' }]);
});
