import type { Handler, HandlerOptions, SubmitAnswer } from '../../handlers';
import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { Gauge, Watch } from './gauge';

/**
 * H5: calls that are refused together are one refusal, and what is in flight follows what is
 * allowed, down and up, whoever sends.
 *
 * @slow
 */

const CALLS = 32;
const RETRY_AFTER_MS = 400;
/**
 * The product looks twice a second; the rest is for a loaded machine. What the watch itself was
 * late comes on top.
 */
const FOLLOWS_WITHIN_MS = 2_500;

interface Payload {
  to: string;
}
const gauges = {
  target: new Gauge(RETRY_AFTER_MS),
  handler: new Gauge(RETRY_AFTER_MS),
  lane: new Gauge(RETRY_AFTER_MS),
};
type Kind = keyof typeof gauges;

const handlerOf = (kind: Kind, options: Partial<HandlerOptions<Payload>>): Handler =>
  defineHandler<Payload>({
    name: kind,
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    submit: async (batch, { signal }): Promise<SubmitAnswer> => {
      const response = await fetch(gauges[kind].url, { method: 'POST', signal });
      await response.arrayBuffer();
      const retryAfterMs = Number(response.headers.get('retry-after-ms'));
      if (response.status === 429)
        return { status: 'later', retryAfterMs, scope: kind === 'handler' ? 'handler' : 'target' };
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
    ...options,
  });

let muster: TestMuster;
beforeAll(async () => {
  for (const gauge of Object.values(gauges)) await gauge.start();
  muster = await startMuster([
    handlerOf('target', { concurrency: { perTarget: CALLS, perHandler: CALLS } }),
    // Several leaders, so several dispatches share what is left.
    handlerOf('handler', { leaders: 3, concurrency: { perTarget: 8, perHandler: CALLS } }),
    handlerOf('lane', {
      lane: { approach: 'parallel' },
      writes: () => [`${++key}`],
      concurrency: { perTarget: CALLS },
    }),
  ]);
  await muster.client.setQueuer({ slots: CALLS });
});
afterAll(async () => {
  await muster.stop();
  for (const gauge of Object.values(gauges)) await gauge.stop();
});

let key = 0;
const submit = async (kind: Kind, n: number): Promise<void> => {
  const targets = kind === 'handler' ? 12 : 1;
  const tasks = Array.from({ length: n }, (_, i) => ({
    id: `${kind}-${++key}`,
    payload: { to: `${kind}-${i % targets}` },
  }));
  if (kind !== 'lane') await muster.client.submit(kind, tasks);
  else
    await muster.client.submitBatches(
      kind,
      tasks.map((task) => ({ service: 'lane-0', items: [task] })),
    );
};
const readAllowed = (kind: Kind) => async (): Promise<number> => {
  const table =
    kind === 'handler'
      ? 'select allowed from handler where name = $1'
      : 'select t.allowed from target t join handler h on h.id = t.handler_id where h.name = $1';
  const { rows } = await muster.database.pool.query<{ allowed: number | null }>(table, [kind]);
  return rows[0]?.allowed ?? CALLS;
};

test.each<Kind>(['target', 'handler', 'lane'])(
  'of a %s: refused together, calls are halved once; those in flight follow the limit, down and up [H5]',
  async (kind) => {
    const gauge = gauges[kind];
    await submit(kind, 6 * CALLS);
    await eventually(() => gauge.inFlight === CALLS);
    const watch = new Watch(gauge, readAllowed(kind));
    const lags: string[] = [];
    /**
     * Waits until so many are in flight, and sees that they stay so many although there is work for
     * more.
     */
    const settlesAt = async (n: number): Promise<void> => {
      const what = (): string => `${n} allowed and in flight; allowed/in flight: ${watch.toString()}`;
      const stays = (): boolean => {
        const [allowed, inFlight] = [watch.since('allowed', n), watch.since('inFlight', n)];
        return allowed !== null && inFlight !== null && watch.last!.atMs - Math.max(allowed, inFlight) > 1_200;
      };
      await eventually(stays, { timeoutMs: 15_000, what });
      const [allowed, inFlight] = [watch.since('allowed', n)!, watch.since('inFlight', n)!];
      const [lag, late] = [Math.round(inFlight - allowed), Math.round(watch.lateMs(allowed, inFlight))];
      lags.push(`${n}: ${lag} ms (${late} late)`);
      if (lag - late > FOLLOWS_WITHIN_MS + RETRY_AFTER_MS)
        throw new Error(`followed after ${lag} ms (the watch was ${late} ms late): ${what()}`);
    };
    try {
      for (const half of [CALLS / 2, CALLS / 4]) {
        gauge.answerAll(429);
        await settlesAt(half);
      }
      // One more for each success.
      for (const more of [CALLS / 2, CALLS]) {
        gauge.answerAll(200);
        await settlesAt(more);
      }
      expect(Math.max(...watch.samples.map(({ inFlight }) => inFlight))).toBe(CALLS);
      if (process.env['MUSTER_TEST_FIGURES'] !== undefined)
        process.stderr.write(`${kind}: followed ${lags.join(', ')}; allowed/in flight: ${watch.toString()}\n`);
    } finally {
      await watch.stop();
      gauge.letGo();
    }
    await eventually(async () => (await muster.client.status(kind))[0]!.counts.succeeded === 6 * CALLS, {
      timeoutMs: 60_000,
    });
  },
);
