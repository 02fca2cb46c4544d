import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { temporalAddress } from '../helpers/database';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import { calls, fifty } from './fifty';
import type { RegistrarSettings } from './registrar';

const SCRIPT = path.join(__dirname, '..', '..', 'dist', 'test', 'end-to-end', 'registrar.js');

test('200 registrations of one target from four processes, 50 per call: 4 calls, each task in one [A13]', async () => {
  const muster = await startMuster([fifty]);
  const ids = Array.from({ length: 200 }, (_, i) => `r-${i}`);
  const settings = { databaseUrl: muster.database.url, prefix: muster.prefix, address: temporalAddress() };
  const children = [0, 1, 2, 3].map((n) => {
    const mine: RegistrarSettings = { ...settings, ids: ids.filter((_, i) => i % 4 === n) };
    return fork(SCRIPT, [JSON.stringify(mine)]);
  });
  const exits = children.map((child) => once(child, 'exit'));
  await Promise.all(children.map((child) => once(child, 'message')));
  for (const child of children) child.send('go');
  expect(await Promise.all(exits)).toEqual(children.map(() => [0, null]));
  const tasks = await muster.client.waitFor(ids, { timeoutMs: 50_000 });
  expect(tasks.every(({ state }) => state === 'succeeded')).toBe(true);
  expect(calls.map((members) => members.length)).toEqual([50, 50, 50, 50]);
  expect(calls.flat().sort()).toEqual([...ids].sort());
  await expectWhole(muster.client);
  await muster.stop();
});
