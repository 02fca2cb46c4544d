import type { TenantLimits } from '../../../postgres/api/tenant';
import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { Quotas } from '../../../workers/api/tenants/quotas';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** What one process admits of a tenant between two counts of the store, by a clock of its own. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ max: 5 });
});
afterAll(() => database.drop());

const QUOTA = { problem: 'quota' };

const tenant = (name: string, limits: Partial<TenantLimits>) =>
  upsertTenant(database.pool, name, { ...NO_QUOTAS, ...limits });
const openQuotas = () => {
  let nowMs = 0;
  return { quotas: new Quotas(database.pool, () => nowMs), pass: (ms: number) => void (nowMs += ms) };
};

test('what was admitted counts at once, though nothing of it is written; after a second the store counts', async () => {
  await tenant('executions', { maxExecutions: 2 });
  const { quotas, pass } = openQuotas();
  await quotas.execution('executions', 9);
  await quotas.execution('executions', 9);
  pass(999);
  await expect(quotas.execution('executions', 9)).rejects.toMatchObject(QUOTA);
  pass(1);
  await quotas.execution('executions', 9);
});

test('items of executions and of fan-outs count together, and each fan-out as one more', async () => {
  await tenant('items', { maxItems: 10 });
  const { quotas } = openQuotas();
  await quotas.execution('items', 4);
  await quotas.fanout('items');
  await quotas.items('items', 5);
  await expect(quotas.items('items', 1)).rejects.toMatchObject(QUOTA);
  await expect(quotas.fanout('items')).rejects.toMatchObject(QUOTA);
  await quotas.items('items', 0);
});

test('calls that come together share one count, and what it leaves', async () => {
  await tenant('together', { maxItems: 3 });
  const { quotas } = openQuotas();
  const calls = await Promise.allSettled([1, 2, 3, 4, 5].map(() => quotas.items('together', 1)));
  expect(calls.map(({ status }) => status).sort()).toEqual([
    ...['fulfilled', 'fulfilled', 'fulfilled'],
    ...['rejected', 'rejected'],
  ]);
});

test('a dry run is held to the same counts, and uses nothing', async () => {
  await tenant('tried', { maxExecutions: 1 });
  const { quotas } = openQuotas();
  await quotas.ofDryRuns().execution('tried', 1);
  await quotas.ofDryRuns().execution('tried', 1);
  await quotas.execution('tried', 1);
  await expect(quotas.ofDryRuns().execution('tried', 1)).rejects.toMatchObject(QUOTA);
});

test('a tenant that is not known is looked for again by the next call', async () => {
  const { quotas } = openQuotas();
  await expect(quotas.items('new', 1)).rejects.toMatchObject({ problem: 'not-found' });
  await tenant('new', { maxItems: 1 });
  await quotas.items('new', 1);
});
