import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { defineHandler } from '../../handlers';
import { expectWhole } from '../helpers/whole';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { ROOT } from '../project/project';

/** docs/submit-by-sql.md from Python: `npm run test:python`. */

const PACKAGES = process.env['MUSTER_TEST_PYTHON_PACKAGES'];
const orders = defineHandler({
  name: 'orders',
  schema: z.object({ customer: z.string(), total: z.number().default(0) }),
  target: ({ customer }) => customer,
  limits: { maxItems: 20 },
  linger: { lingerMs: 50 },
  submit: async ({ tasks }) => ({ results: tasks.map(({ id, payload }) => ({ id, status: 'ok', result: payload })) }),
});

let muster: TestMuster;
beforeAll(async () => {
  if (PACKAGES === undefined) throw new Error('Run this by `npm run test:python`, which installs the drivers.');
  muster = await startMuster([orders]);
  for (const table of ['purchase', 'refund'])
    await muster.database.pool.query({ text: `create table public.${table} (id int, customer text)` });
});
afterAll(() => muster.stop());

interface Told {
  new: boolean;
  rolledBack: boolean;
  repeat: boolean;
  twice: boolean[];
  texts: boolean;
  named: boolean;
  errors: Record<string, (string | null)[]>;
}

test.each(['psycopg', 'pg8000'])('%s: tasks are submitted in its transactions, and end', async (driver) => {
  const args = [
    path.join(__dirname, 'submits.py'),
    driver,
    muster.database.url,
    path.join(ROOT, 'docs', 'submit-by-sql.md'),
  ];
  const { stdout } = await promisify(execFile)('python3', args, { env: { ...process.env, PYTHONPATH: PACKAGES } });
  expect(JSON.parse(stdout) as Told).toEqual({
    ...{ new: true, rolledBack: true, repeat: false, twice: [true, false], texts: true, named: true },
    errors: {
      conflict: ['23505', 'ID_CONFLICT', expect.stringMatching(/\w/)],
      handler: ['42704', 'UNKNOWN_HANDLER', expect.stringMatching(/\w/)],
      id: ['22023', 'INVALID_ID', expect.stringMatching(/\w/)],
    },
  });
  const shown = driver === 'psycopg' ? ['refund-7'] : [];
  const named = [
    'kept',
    'twice',
    `texts-äö-🙂-'"\\`,
    'named',
    'beside',
    ...[...Array(50).keys()].map((n) => `many-${n}`),
  ];
  const ids = [...named.map((id) => `${driver}-${id}`), ...shown];
  const ended = await muster.client.waitFor(ids, { timeoutMs: 90_000 });
  expect(ended.map(({ id, state }) => [id, state])).toEqual(ids.map((id) => [id, 'succeeded']));
  expect(ended[0]).toMatchObject({ target: 'ada', result: { customer: 'ada', total: 1 } });
  expect(ended[2]).toMatchObject({ target: "o'neil 🙂" });
  expect(await muster.client.getTask(`${driver}-dropped`)).toBeNull();
  const { rows } = await muster.database.pool.query({
    text: 'select id from public.purchase where customer = $1 order by id',
    values: [driver],
  });
  expect(rows).toEqual([{ id: 1 }]);
  await expectWhole(muster.client);
});
