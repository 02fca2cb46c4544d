import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import { startMuster } from '../helpers/muster';

test('a limit of every kind at once: items, bytes, weight, weight in flight (G4)', async () => {
  const sizes: { items: number; bytes: number; weight: number }[] = [];
  let inFlight = 0;
  let most = 0;
  const handler = defineHandler<{ n: number }>({
    name: 'limits',
    target: () => 'one',
    bytesOf: ({ n }) => 10 + (n % 7) * 5,
    weightOf: ({ n }) => 1 + (n % 5),
    limits: { maxItems: 10, maxBytes: 180, overheadBytes: 20, maxWeight: 25, maxWeightInFlight: { perHandler: 40 } },
    linger: { lingerMs: 30 },
    submit: async (batch) => {
      const of = (f: (n: number) => number): number => batch.tasks.reduce((sum, task) => sum + f(task.payload.n), 0);
      const weight = of((n) => 1 + (n % 5));
      sizes.push({ items: batch.tasks.length, bytes: 20 + of((n) => 10 + (n % 7) * 5), weight });
      most = Math.max(most, (inFlight += weight));
      await new Promise((resolve) => setTimeout(resolve, 10));
      inFlight -= weight;
      return { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) };
    },
  });
  const own = await startMuster([handler]);
  const tasks = Array.from({ length: 150 }, (_, n) => ({ id: `l-${n}`, payload: { n } }));
  await own.client.submit('limits', tasks);
  await own.client.waitFor(
    tasks.map((task) => task.id),
    { timeoutMs: 60_000 },
  );
  for (const { items, bytes, weight } of sizes) {
    expect(items).toBeLessThanOrEqual(10);
    expect(bytes).toBeLessThanOrEqual(180);
    expect(weight).toBeLessThanOrEqual(25);
  }
  expect(most).toBeLessThanOrEqual(40);
  expect(sizes.reduce((sum, { items }) => sum + items, 0)).toBe(150);
  await eventually(async () => (await own.client.verify()).ok, { timeoutMs: 5_000 });
  await own.stop();
});
