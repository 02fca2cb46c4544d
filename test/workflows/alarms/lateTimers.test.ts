import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../../handlers';
import { startTemporalDev } from '../../../workers/embedded';
import type { TemporalDev } from '../../../workers/embedded';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { ended, functionsOf } from '../../executions/helpers';

/**
 * Waits on a server whose timers were in time when the worker measured, and are many seconds late
 * now.
 *
 * @slow
 */

const LINGER_MS = 250;
/** The alarm of a late timer, and its signal. */
const ENDED_MS = LINGER_MS + 2_500;
const TIMES = 3;
/** A server may start one run per second and workflow id. */
const APART_MS = 1_200;

const calledAt: number[] = [];
let tries = 0;
const handler = defineHandler<{ to: string }>({
  name: 'errands',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: LINGER_MS },
  leaders: 1,
  submit: (batch) => {
    calledAt.push(performance.now());
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});

let server: TemporalDev;
let muster: TestMuster;
beforeAll(async () => {
  server = await startTemporalDev({ ui: false, dynamicConfig: { 'history.timerProcessorMaxTimeShift': '20s' } });
  const executions = functionsOf({
    second: () => ({ exitCode: ++tries < 2 ? 1 : 0 }),
  });
  muster = await startMuster([handler], { address: server.address, sweepEveryMs: 0, executions });
});
afterAll(async () => {
  await muster.stop();
  await server.stop();
});

test('a leader whose timer is much too late goes on by the clock of its worker, without a sweeper', async () => {
  await muster.node.noteTimers(20, true);
  for (let i = 0; i < TIMES; i++) {
    const begun = performance.now();
    await muster.client.submit('errands', [{ id: `late-${i}`, payload: { to: 'se' } }]);
    await eventually(() => calledAt.length > i, { timeoutMs: 30_000, what: 'a call' });
    const tookMs = calledAt[i]! - begun;
    expect(tookMs).toBeGreaterThan(LINGER_MS - 5);
    expect(tookMs).toBeLessThan(ENDED_MS);
    await sleep(APART_MS);
  }
  const counts = muster.node.deps.requests.counts().filter(({ kind }) => kind === 'alarm');
  expect(counts).toEqual([{ kind: 'alarm', handler: 'errands', n: expect.any(Number) }]);
});

test('an execution whose pause between rounds is not ended by the server begins the next round', async () => {
  const begun = performance.now();
  const execution = await muster.client.execute({ functionId: 'second', method: 'm' }, [['1']]);
  expect(await ended(execution)).toMatchObject({ state: 'done', counts: { done: 1 } });
  expect([tries, performance.now() - begun < 8_000]).toEqual([2, true]);
});
