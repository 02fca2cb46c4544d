import { listSharedLimits, lockSharedLimit, readSharedLimit } from '../../../postgres/limits/sharedSettings';
import { Rows } from '../rows/rows';

let rows: Rows;
beforeAll(async () => {
  rows = await Rows.open();
  for (const name of ['account', 'region', 'unshared']) {
    const { id } = await rows.insert('shared_limit', { name, defined: '{"concurrency":3}' });
    if (name === 'unshared') continue;
    for (const no of [2, 1]) await rows.place(`${name} ${no}`, { handler: { shares: id } });
  }
  await rows.place('alone');
});
afterAll(() => rows.close());

test('a shared limit is shown with the handlers that share it, by name, and with no others', async () => {
  const account = { name: 'account', defined: { concurrency: 3 }, overrides: {}, handlers: ['account 1', 'account 2'] };
  const region = { ...account, name: 'region', handlers: ['region 1', 'region 2'] };
  const unshared = { ...account, name: 'unshared', handlers: [] };
  expect(await readSharedLimit(rows.pool, 'account')).toMatchObject(account);
  expect(await lockSharedLimit(rows.pool, 'region')).toMatchObject(region);
  expect(await listSharedLimits(rows.pool, { after: '', limit: 10 })).toMatchObject([account, region, unshared]);
  expect(await listSharedLimits(rows.pool, { after: 'account', limit: 1 })).toMatchObject([region]);
});

test('one that is not there is null', async () => {
  expect(await readSharedLimit(rows.pool, 'nothing')).toBeNull();
  expect(await lockSharedLimit(rows.pool, 'nothing')).toBeNull();
});
