import { createMetrics } from '../../../workers/metrics/server';
import { noCounts } from '../../../workers/sweeper/counts';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** How the metrics of a process tell what its sweeper has found. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ max: 5 });
});
afterAll(() => database.drop());

test('a process tells of each kind that its sweeper has found none, until it has found one', async () => {
  const counts = noCounts();
  const { registry, health } = createMetrics({ pool: database.pool, sweepCounts: counts });
  const told = async (): Promise<Record<string, number>> => {
    const found = (await registry.metrics()).matchAll(/^muster_sweeper\{found="(\w+)"\} (\S+)$/gm);
    return Object.fromEntries([...found].map(([, kind, n]) => [kind, Number(n)]));
  };
  try {
    const kinds = Object.keys(counts) as (keyof typeof counts)[];
    const none = Object.fromEntries(kinds.map((kind) => [kind, 0]));
    expect(kinds).toContain('stuckRuns');
    expect(await told()).toEqual(none);
    for (const kind of kinds) {
      counts[kind]++;
      expect(await told()).toEqual({ ...none, [kind]: 1 });
      counts[kind]--;
    }
  } finally {
    health.stop();
  }
});
