import { defineFunction } from '../../../handlers/functions';
import type { ApiWorld } from '../../api/world';
import { openWorld } from '../../api/world';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { Tally } from '../tally';

/** What a caller asks of a node stays under the operator's ceilings, at each door. @slow */

const MAX = { maxConcurrency: 3, maxTimeoutMs: 400, maxAttempts: 2 };
let running = 0;
let most = 0;
let runs = 0;
const functions = [
  defineFunction({
    name: 'count',
    run: async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 30));
      running--;
    },
  }),
  defineFunction({
    name: 'endless',
    run: async (_args, { signal }) => {
      runs++;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    },
  }),
];

let muster: TestMuster;
let api: ApiWorld;
beforeAll(async () => {
  const executions = {
    ...MAX,
    functions: new Map(functions.map((one) => [one.name, one])),
    serves: true,
    rollCallMs: 300,
    retryBaseMs: 10,
  };
  muster = await startMuster([], { executions });
  api = await openWorld({ handlers: [], muster, executions: MAX });
});
afterAll(async () => {
  await api.stop();
  await muster.stop();
});

const tally = new Tally('ceilings of executions');
const lists = (n: number): string[][] => Array.from({ length: n }, (_, i) => [String(i)]);

test('the HTTP API refuses more, with the field, what it expected and what came', async () => {
  const ask = (config: object) =>
    api.call('POST /v1/executions', {
      body: { template: { function_id: 'count', method: 'x', config }, arguments: lists(1) },
    });
  expect((await ask({ concurrency: 4, timeout_ms: 401 })).body).toMatchObject({
    status: 422,
    code: 'NOT_ALLOWED',
    errors: [
      {
        field: 'template.config.concurrency',
        message: 'expected at most 3 (executions.maxConcurrency of the config file), got 4',
      },
      {
        field: 'template.config.timeout_ms',
        message: 'expected at most 400 (executions.maxTimeoutMs of the config file), got 401',
      },
    ],
  });
  const over = [4, 5, 10, 100, 999, 1_000].map((concurrency) => ({ concurrency }));
  const long = [401, 402, 1_000, 60_000, 3_600_000, 86_400_000].map((timeout_ms) => ({ timeout_ms }));
  const wrong = [-1, 0, 0.5, 1e9, '3', null, [3], true].flatMap((value) => [
    { concurrency: value },
    { timeout_ms: value },
  ]);
  for (const config of [...over, ...long, ...wrong]) {
    const { status, text } = await ask(config);
    tally.add(JSON.stringify(config), status === 400 || status === 422 ? null : `${status} ${text}`);
  }
  const taken = await ask({ concurrency: 3, timeout_ms: 400 });
  expect(taken.status).toBe(202);
  await muster.client.execution((taken.body as { request_id: string }).request_id).wait({ timeoutMs: 60_000 });
  tally.expectNoneThrough(25);
});

test('a node grants a caller of the library no more than its ceilings', async () => {
  const many = await muster.client.execute(
    { functionId: 'count', method: 'x', config: { concurrency: 1_000, timeoutMs: 86_400_000 } },
    lists(30),
  );
  await many.wait({ timeoutMs: 60_000 });
  tally.add('concurrency 1,000', most <= MAX.maxConcurrency ? null : `${most} ran at once`);
  expect(most).toBe(MAX.maxConcurrency);

  const endless = await muster.client.execute(
    { functionId: 'endless', method: 'x', config: { timeoutMs: 86_400_000 } },
    lists(1),
    { maxAttempts: 1_000_000 },
  );
  await endless.wait({ timeoutMs: 60_000 });
  tally.add('timeout of a day, 1,000,000 attempts', runs <= MAX.maxAttempts ? null : `${runs} runs`);
  expect(await endless.status()).toMatchObject({ counts: { permanentlyFailed: 1 }, attemptsLimit: MAX.maxAttempts });
  tally.expectNoneThrough(27);
});
