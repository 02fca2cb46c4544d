import { eventually } from '../../helpers/eventually';
import type { CallbackWorld } from '../callbackWorld';
import { createCallbackWorld } from '../callbackWorld';

/** H7: `muster complete`, and the settings of callbacks as processes see them. @slow */

let world: CallbackWorld;
beforeAll(async () => {
  world = await createCallbackWorld();
  await world.worker('--callback-port 0');
});
afterAll(() => world.close());

/** The downstream has them. */
const submit = async (handler: string, to: string, n: number): Promise<string[]> => {
  const ids = await world.submitTo(handler, to, n);
  await world.jobs.job(to);
  return ids;
};
const lines = (of: readonly string[]) => of.map((id) => ({ id, status: 'ok', result: id.length }));

test('from a file by reference; again, late and otherwise, unknown: answers and exit codes [H7]', async () => {
  const tasks = await submit('lane', 'po', 3);
  const file = world.write('results.ndjson', lines(tasks));
  const { job } = await world.jobs.job('po');
  const tell = (args: string, stdin?: string) => world.run(`complete lane --reference job-${job} ${args}`, stdin);
  const first = await eventually(async () => ((done) => done.code !== 5 && done)(await tell(`--file ${file} --json`)));
  expect(first.json()).toMatchObject({
    reference: `job-${job}`,
    state: 'succeeded',
    results: { ok: 3 },
    repeated: false,
  });
  const again = await tell(
    '--file -',
    lines(tasks)
      .map((line) => JSON.stringify(line))
      .join('\n'),
  );
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringMatching(/^batch \d+ was already completed with the same answer: it is succeeded: 3 tasks \(3 ok\)/),
  ]);
  const late = await tell('--status failed --error late --json');
  expect(late.code).toBe(1);
  expect(late.json()).toMatchObject({ error: { code: 'COMPLETION_STALE' } });
  const unknown = await world.run(`complete lane --reference nowhere --file ${file}`);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toMatch(/Reference "nowhere" not found/);
});

test('by number, expired; wrong lines and wrong usage end with code 2 and settle nothing [H7]', async () => {
  await submit('jobs', 'exp', 2);
  const task = await eventually(async () =>
    ((found) => found.batch !== null && found)((await world.run('task exp-0 --json')).json<{ batch: number | null }>()),
  );
  const tell = (args: string, stdin = '') => world.run(`complete jobs --batch ${task.batch} ${args}`, stdin);
  for (const [args, stdin, message] of [
    ['--file -', '{"id":"exp-0"', /-, line 1: expected JSON/],
    [
      '--file -',
      '{"id":"exp-0","status":"ok","result":{"n":9007199254740993}}',
      /-, line 1, result\.n: .*9007199254740993/,
    ],
    ['--file -', '{"id":"someone","status":"ok"}', /results: .*"someone", which is not in this batch of 2/],
    ['--file nothing.ndjson', '', /--file: expected a file at nothing.ndjson, got none/],
    ['', '', /--file: expected a file with the results/],
    ['--reference x --file -', '', /expected either --reference or --batch, got both/],
    ['--file - --error text', '', /error: expected no error with status done/],
  ] as const) {
    const { code, stderr } = await tell(args, stdin);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  }
  const done = await tell('--status expired --file - --json', '{"id":"exp-1","status":"ok"}');
  expect(done.json()).toMatchObject({ results: { ok: 1, retry: 1 } });
  expect((await world.jobs.job('exp', 2)).ids).toEqual(['exp-0']);
});

test('a callback port without a secret, or on all addresses without a URL, is refused by name [Build 7]', async () => {
  const start = (args: string, env: Record<string, string>) => world.start(`worker ${args}`, env);
  const secretless = start('--callback-port 0', { MUSTER_CALLBACK_SECRET: '' });
  expect(await secretless.exit).toBe(2);
  expect(secretless.stderr()).toMatch(
    /MUSTER_CALLBACK_SECRET: expected a secret of at least 32 characters, the same in every worker/,
  );
  const wild = start('--callback-port 0 --callback-host 0.0.0.0', {});
  expect(await wild.exit).toBe(2);
  expect(wild.stderr()).toMatch(/MUSTER_CALLBACK_URL: expected the address under which downstreams reach this worker/);
});
