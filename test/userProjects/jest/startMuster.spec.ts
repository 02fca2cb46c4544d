import type { StartedMuster } from 'temporal-muster/testing';
import { startMuster } from 'temporal-muster/testing';
import type { City } from './cities';
import { indexCity } from './cities';

const calls: string[][] = [];
let refused: string[] = [];
const handler = indexCity(async (_, names) => {
  calls.push(names);
  return refused;
});
const city = (name: string): { id: string; payload: City } => ({ id: name, payload: { country: 'se', name } });

let muster: StartedMuster;
beforeAll(async () => {
  muster = await startMuster({ handlers: [handler] });
});
afterAll(() => muster?.stop());
beforeEach(() => {
  calls.length = 0;
  refused = [];
});

test('cities wait a minute for others, and share a call', async () => {
  await muster.client.submit(handler, [city('Lund'), city('Ystad')]);
  await muster.clock.advance('50s');
  expect(calls).toEqual([]);
  await muster.clock.advance('10s');
  expect(calls).toEqual([['Lund', 'Ystad']]);
});

test('a full batch goes at once; what was refused for now comes back ten minutes later', async () => {
  refused = ['Kiruna'];
  await muster.client.submit(handler, ['Kiruna', 'Luleå', 'Umeå'].map(city));
  await muster.clock.settled();
  expect(calls).toEqual([['Kiruna', 'Luleå', 'Umeå']]);
  refused = [];
  await muster.clock.advance('11 minutes'); // ten until it may go again, and one in which it waits for others
  expect(calls.at(-1)).toEqual(['Kiruna']);
  const [task] = await muster.client.waitFor('Kiruna', { timeoutMs: 5_000 });
  expect(task).toMatchObject({ state: 'succeeded', attempts: 2 });
});
