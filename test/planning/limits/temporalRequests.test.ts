import type { Client } from '@temporalio/client';
import fc from 'fast-check';
import { paced } from '../../../workflows/planning/pace';
import { REQUEST_PACE, Requests } from '../../../workflows/temporal/requests';
import { terminateRuns, wakeBalancer, wakeLeaderWorkflows } from '../../../workflows/wake';

/** Starts and signals that a client sends to Temporal: counted, and bounded in rate. */

test('of any arrivals none but a burst go faster than the rate, and none waits below it', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 200 });
  const rate = fc.record({ perSecond: fc.integer({ min: 1, max: 500 }), burst: fc.integer({ min: 1, max: 20 }) });
  fc.assert(
    fc.property(arrivals, rate, (gaps, pace) => {
      const sentMs: number[] = [];
      let nowMs = 0;
      let paceMs = 0;
      for (const gap of gaps) {
        nowMs += gap;
        const next = paced(paceMs, nowMs, pace);
        paceMs = next.paceMs;
        sentMs.push(nowMs + next.waitMs);
        if (sentMs.length <= pace.burst) expect(next.waitMs).toBe(0);
      }
      for (const [i, from] of sentMs.entries()) {
        const until = sentMs[i + pace.burst];
        // Of one more than the burst the last is a step of the rate behind the first.
        if (until !== undefined) expect(until - from).toBeGreaterThanOrEqual(1_000 / pace.perSecond - 1e-3);
      }
      const [first, last] = [sentMs[0]!, sentMs.at(-1)!];
      const allowed = pace.burst + ((last - first) * pace.perSecond) / 1_000;
      expect(sentMs.length).toBeLessThanOrEqual(allowed + 1e-3);
    }),
  );
});

test('a burst waits for no rest that sums of fractions leave over', () => {
  const pace = { perSecond: 433, burst: 2 };
  expect(paced(paced(0, 2, pace).paceMs, 2, pace).waitMs).toBe(0);
});

const requestsTo = (sent: string[]): Requests =>
  new Requests({
    withDeadline: (_deadline: number, work: () => Promise<unknown>) => work(),
    workflow: {
      signalWithStart: (type: string) => Promise.resolve(sent.push(type)),
      getHandle: () => ({ terminate: () => Promise.reject(new Error('away')) }),
    },
  } as unknown as Client);
const leaders = (n: number) =>
  Array.from({ length: n }, (_, leaderId) => ({ leaderId, handler: 'orders', name: `${leaderId}`, dueInMs: 0 }));

test('wakes are counted by their workflow and handler; a request that fails, too', async () => {
  const sent: string[] = [];
  const requests = requestsTo(sent);
  await wakeLeaderWorkflows(requests, 'muster', leaders(3));
  await wakeBalancer(requests, 'muster');
  await terminateRuns(requests, [{ workflowId: 'a', runId: 'b', reason: 'stuck' }]);
  expect(sent).toEqual(['leader', 'leader', 'leader', 'balancer']);
  expect(requests.counts()).toEqual([
    { kind: 'leader', handler: 'orders', n: 3 },
    { kind: 'balancer', handler: '', n: 1 },
    { kind: 'terminate', handler: '', n: 1 },
  ]);
  expect(requestsTo([]).counts()).toEqual([]);
});

test('more wakes than a burst are spread over the time that the rate gives them', async () => {
  const { burst, perSecond } = REQUEST_PACE;
  const sent: string[] = [];
  const requests = requestsTo(sent);
  const startedAt = performance.now();
  await wakeLeaderWorkflows(requests, 'muster', leaders(burst + perSecond / 2));
  expect(sent).toHaveLength(burst + perSecond / 2);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(450);
  await requests.send({ kind: 'queuer' }, () => Promise.resolve());
  expect(requests.counts()).toMatchObject([{ n: burst + perSecond / 2 }, { kind: 'queuer', n: 1 }]);
});

test('a wake whose turn would come too late fails at once', async () => {
  const requests = requestsTo([]);
  const send = () => requests.send({ kind: 'queuer' }, () => Promise.resolve());
  const many = Array.from({ length: REQUEST_PACE.burst + 4 * REQUEST_PACE.perSecond }, send);
  await many[0];
  const tooMany = Array.from({ length: 2 * REQUEST_PACE.perSecond }, send);
  await expect(Promise.race(tooMany.slice(-10))).rejects.toThrow('its turn would come in more than 5000 ms');
  void Promise.allSettled([...many, ...tooMany]);
  expect(requests.counts()[0]!.n).toBeLessThan(many.length);
});
