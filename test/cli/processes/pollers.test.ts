import { eventually } from '../../helpers/eventually';
import { freePort } from '../../helpers/machine/freePort';
import type { World } from '../world';
import { createWorld } from '../world';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const HANDLERS = 20;
const CONFIG = `
import { defineHandler } from 'temporal-muster';
const one = (name: string) =>
  defineHandler<unknown>({ name, target: () => 't', limits: { maxItems: 10 }, submit: async () => ({ results: [] }) });
export default Array.from({ length: ${HANDLERS} }, (_, i) => one('handler-' + i));
`;

/** A server takes 1,200 open polls of a kind and namespace by default, all processes together. */
test('a process at rest holds one open poll per handler, not ten', async () => {
  const port = await freePort();
  world.write('muster.config.ts', CONFIG);
  await world.worker(`--sdk-metrics-port ${port}`);
  const polls = async (): Promise<Map<string, number>> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const found = new Map<string, number>();
    for (const [, labels, n] of text.matchAll(/^temporal_num_pollers\{(.*)\} (\d+)$/gm)) {
      const kind = /poller_type="([^"]*)"/.exec(labels!)?.[1] ?? '';
      found.set(kind, (found.get(kind) ?? 0) + Number(n));
    }
    return found;
  };
  const all = await eventually(
    async () => ((now) => (now.get('activity_task') ?? 0) > HANDLERS && now)(await polls()),
    { what: async () => JSON.stringify([...(await polls())]) },
  );
  expect(all.get('activity_task')).toBeLessThanOrEqual(HANDLERS + 5);
  expect((all.get('workflow_task') ?? 0) + (all.get('sticky_workflow_task') ?? 0)).toBeLessThanOrEqual(6);
});
