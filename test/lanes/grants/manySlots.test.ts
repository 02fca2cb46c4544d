import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { Downstream, items, okay } from '../downstream';

/**
 * Spec table: 64 submitters, 4 services, one-round: every submitter is used while batches remain
 * and the approach allows it.
 */

const downstream = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([downstream.handler({ lane: { approach: 'unconstrained' } })]);
});
afterAll(() => muster.stop());

test('64 submitters, 4 services, one-round: all 64 call at once while batches remain, never more [C13 C23]', async () => {
  const { client } = muster;
  let letGo: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => (letGo = resolve));
  downstream.answer = async (batch) => {
    await gone;
    return okay(batch);
  };
  await client.setQueuer({ slots: 64, strategy: 'one-round' });
  const services = ['a', 'b', 'c', 'd'];
  const batches = Array.from({ length: 160 }, (_, i) => ({
    service: services[i % 4]!,
    items: items(services[i % 4]!),
  }));
  await client.submitBatches('edits', batches);
  await eventually(() => downstream.inFlight === 64);
  const shares = services.map((service) => downstream.seen.filter((call) => call.service === service).length);
  expect(shares).toEqual([16, 16, 16, 16]);
  letGo();
  await client.waitFor(
    batches.flatMap((batch) => batch.items.map(({ id }) => id)),
    { timeoutMs: 60_000 },
  );
  expect(downstream.seen).toHaveLength(160);
  expect(downstream.mostInFlight).toBe(64);
});
