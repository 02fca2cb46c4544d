import { HostPace } from '../../activities/executions/hostPace';
import { Lateness } from '../helpers/machine/lateness';
import type { Fleet } from './helpers';
import { ended, functionsOf, lists, openFleet } from './helpers';

/** A rate per target host: of one chunk, and shared by the nodes of a round. */

const idle = new AbortController().signal;
/** Ms until a run may go. */
const waitOf = async (pace: HostPace, args: string[], signal = idle): Promise<number> => {
  const since = performance.now();
  await pace.turn(args, signal);
  return performance.now() - since;
};

test('runs to one host wait for each other, those to another host or to none do not', async () => {
  const pace = new HostPace(1);
  await pace.turn(['https://one.example/1'], idle);
  const waits = await Promise.all([
    waitOf(pace, ['text', 'https://one.example/2']),
    waitOf(pace, ['HTTP://two.example/1']),
    waitOf(pace, ['https://one.example:8443/1']), // another port is another host
    waitOf(pace, ['one.example']),
  ]);
  expect(waits[0]).toBeGreaterThan(900);
  for (const ms of waits.slice(1)) expect(ms).toBeLessThan(waits[0]);
  expect(await waitOf(new HostPace(Infinity), ['https://one.example/1'])).toBeLessThan(500);
});

test('an aborted run goes at once', async () => {
  const pace = new HostPace(0.1);
  await pace.turn(['https://one.example/1'], idle);
  const abort = new AbortController();
  const wait = waitOf(pace, ['https://one.example/2'], abort.signal);
  abort.abort();
  expect(await wait).toBeLessThan(1_000);
  expect(await waitOf(pace, ['https://one.example/3'], AbortSignal.abort())).toBeLessThan(1_000);
});

describe('on nodes', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await openFleet({});
  });
  afterAll(() => fleet.stop());
  /** When runs began, by node and by host. */
  const at = new Map<string, number[]>();
  const startNode = (node: string) =>
    fleet.node(
      functionsOf({
        call: ([url]) => {
          for (const key of [node, new URL(url!).host]) at.set(key, [...(at.get(key) ?? []), performance.now()]);
        },
      }),
    );
  const spanOf = (key: string): number => at.get(key)!.at(-1)! - at.get(key)![0]!;

  test('two nodes share the rate of a host; two hosts on one node do not', async () => {
    const first = await startNode('first');
    const lateness = new Lateness();
    let begunAt = performance.now();
    const hosts = lists(20).map((_, i) => [`https://${i % 2 === 0 ? 'one' : 'two'}.example/${i}`]);
    await ended(await fleet.run('call', hosts, { ratePerHost: 10, concurrency: 4 }));
    for (const host of ['one.example', 'two.example']) {
      expect(at.get(host)).toHaveLength(10);
      expect(spanOf(host)).toBeGreaterThan(850);
      expect(spanOf(host)).toBeLessThan(1_800 + lateness.since(begunAt)); // 1,900 if they waited for each other
    }
    at.clear();
    const second = await startNode('second');
    begunAt = performance.now();
    await ended(
      await fleet.run(
        'call',
        lists(20).map(() => ['https://one.example/']),
        { numberOfNodes: 2, ratePerHost: 20 },
      ),
    );
    for (const node of ['first', 'second']) {
      expect(at.get(node)).toHaveLength(10);
      expect(spanOf(node)).toBeGreaterThan(850); // 450 if each had the whole rate
      expect(spanOf(node)).toBeLessThan(1_700 + lateness.since(begunAt)); // 1,800 at half of its share
    }
    await lateness.stop();
    await first();
    await second();
  });
});
