import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../../handlers';
import { ended, functionsOf } from '../../executions/helpers';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/**
 * Waits on a server whose timers are in time: they cost no signal.
 *
 * @slow
 */

/** An alarm that was not taken back rings within this time after the end of the wait. */
const RINGS_MS = 2_200;

let calls = 0;
let tries = 0;
const handler = defineHandler<{ to: string }>({
  name: 'errands',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 100 },
  submit: (batch) => {
    calls++;
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});

let muster: TestMuster;
beforeAll(async () => {
  const executions = functionsOf({ second: () => ({ exitCode: ++tries < 2 ? 1 : 0 }) });
  muster = await startMuster([handler], { sweepEveryMs: 0, executions });
});
afterAll(() => muster.stop());

const alarms = () => muster.node.deps.requests.counts().filter(({ kind }) => kind === 'alarm');

test('the alarm of a linger is taken back when its timer has fired', async () => {
  await muster.client.submit('errands', [{ id: 'one', payload: { to: 'se' } }]);
  await eventually(() => calls === 1);
  await sleep(RINGS_MS);
  expect(alarms()).toEqual([]);
});

test('so is that of the pause between the rounds of an execution', async () => {
  const execution = await muster.client.execute({ functionId: 'second', method: 'm' }, [['1']]);
  expect(await ended(execution)).toMatchObject({ state: 'done' });
  expect(tries).toBe(2);
  await sleep(RINGS_MS);
  expect(alarms()).toEqual([]);
});
