import { findForeign } from '../../../postgres/callbacks/taskEnd';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

let rows: Rows;
let place: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs');
});
afterAll(() => rows.close());

/** A task whose end is reported there. */
const told = async (id: string, kind: string, address: object): Promise<void> => {
  const recipient = await rows.insert('recipient', { kind, address: JSON.stringify(address), used_at: at(0) });
  await rows.task(place, { id, recipient_id: recipient.id });
};

test('of the tasks asked for, those are foreign whose end another one is told, or no one', async () => {
  await told('own', 'workflow', { workflowId: 'mine' });
  await told('of another workflow', 'workflow', { workflowId: 'other' });
  await told('of a webhook', 'webhook', { url: 'https://hook.example/' });
  await rows.task(place, { id: 'told to nobody' });
  const all = ['own', 'of another workflow', 'of a webhook', 'told to nobody'];
  const foreign = await findForeign(rows.pool, [...all, 'not there'], 'mine');
  expect(foreign.sort()).toEqual(['of a webhook', 'of another workflow', 'told to nobody']);
  expect(await findForeign(rows.pool, ['own'], 'mine')).toEqual([]);
  expect(await findForeign(rows.pool, ['own', 'of a webhook'], 'other')).toHaveLength(2);
  expect(await findForeign(rows.pool, ['of another workflow'], 'other')).toEqual([]);
});
