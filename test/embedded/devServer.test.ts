import { DevServers, startWorkflow } from './devServers';
import { isRunning, removeTemporary } from './helpers';

/** The embedded Temporal dev server; what can go wrong with it: `devServerTroubles.test.ts`. */

const { start, connect, stop } = new DevServers();
afterEach(stop);
afterAll(removeTemporary);

test('two start side by side, with namespace, search attributes, Web UI and metrics, and are gone at stop', async () => {
  const lines: string[] = [];
  const searchAttributes = { MusterTargets: 'Int', MusterHandler: 'Keyword' };
  const log = (line: string) => lines.push(line);
  const [one, two] = await Promise.all([start({ ui: true, namespace: 'muster', searchAttributes, log }), start()]);
  expect(one.address).not.toBe(two.address);
  expect(one.namespace).toBe('muster');
  expect(two).toMatchObject({ namespace: 'default', uiUrl: undefined });
  expect(lines).toContainEqual(expect.stringMatching(/^Temporal CLI: using .*, from /));

  const attributes = await (await connect(one)).operatorService.listSearchAttributes({ namespace: 'muster' });
  expect(Object.keys(attributes.customAttributes ?? {})).toEqual(expect.arrayContaining(Object.keys(searchAttributes)));
  expect((await fetch(one.uiUrl as string)).status).toBe(200);
  expect(await (await fetch(one.metricsUrl)).text()).toContain('service_requests');
  await startWorkflow(await connect(two), 'default', 'at-once');

  await one.stop();
  expect([one, two].map(({ pid }) => isRunning(pid))).toEqual([false, true]);
});
