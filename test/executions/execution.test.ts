import { executionWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import type { Fleet } from './helpers';
import { ended, functionsOf, lists, openFleet, Runs } from './helpers';

/** E1-E4, E6, E9-E11, E13 end to end: registered functions, real nodes on the real servers. */
describe('executions', () => {
  let fleet: Fleet;
  const runs = new Runs();
  beforeAll(async () => {
    fleet = await openFleet({
      echo: (args, call) => {
        runs.note(args, call);
        return args.join(' ');
      },
      fails: (args, call) => {
        runs.note(args, call);
        return { exitCode: 3, stdout: 'half', stderr: 'no' };
      },
      throws: () => {
        throw new Error('not today');
      },
      odd: () => ({ exitCode: 'none' }) as never,
      slow: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      env: (_, { env, method }) => ({ stdout: `${method} ${env['NAME']}`, stderr: 'x'.repeat(70_000) }),
    });
    for (let i = 0; i < 4; i++)
      await fleet.node({
        maxAttempts: 4,
        attributes: { zone: i < 2 ? 'eu' : 'us' },
        topics: i % 2 === 0 ? ['all', 'even'] : ['all'],
      });
  });
  afterAll(() => fleet.stop());
  beforeEach(() => void runs.all.splice(0));
  const run: Fleet['run'] = (...args) => fleet.run(...args);

  test('a cancel request of the Web UI cancels the execution itself', async () => {
    const execution = await run('slow', lists(4), { numberOfNodes: 2 });
    await eventually(async () => (await execution.chunks()).some(({ state }) => state === 'taken'));
    const { workflow } = await fleet.client.temporal();
    await workflow.getHandle(executionWorkflowId(fleet.prefix, execution.id)).cancel();
    expect(await ended(execution)).toMatchObject({ state: 'cancelled' });
  });

  test('20 items x 4 arguments on 4 nodes: 4 orders of 5, their union is the input, nothing twice [E1 E2 E4]', async () => {
    const input = Array.from({ length: 20 }, (_, i) => [`a${i}`, `b${i}`, `c${i}`, `d${i}`]);
    const execution = await run('echo', input, { numberOfNodes: 4 }, { topic: 'all' });
    expect(execution.id).toMatch(/^[0-9a-f]{8}-/);
    const view = await ended(execution);
    expect(view).toMatchObject({ state: 'done', items: 20, counts: { done: 20 }, message: null, topic: 'all' });
    const chunks = await execution.chunks();
    expect(chunks.map(({ items }) => items)).toEqual([5, 5, 5, 5]);
    expect(new Set(chunks.map(({ node }) => node)).size).toBe(4);
    const items = [];
    for await (const item of execution.items(7)) items.push(item);
    expect(items.map((item) => item.arguments)).toEqual(input);
    expect(items.map((item) => item.stdout)).toEqual(input.map((args) => args.join(' ')));
    const places = items.slice(0, 4).map(({ chunk }) => chunk);
    expect(items.every(({ chunk, position }) => places.indexOf(chunk) === position % 4)).toBe(true);
    expect(runs.all.map(({ position }) => position).sort((a, b) => a - b)).toEqual(input.map((_, i) => i));
  });

  test('6 nodes wanted, 4 items: 4 chunks [E4]', async () => {
    const execution = await run('echo', lists(4), { numberOfNodes: 6 });
    await ended(execution);
    expect((await execution.chunks()).map(({ items }) => items)).toEqual([1, 1, 1, 1]);
  });

  test.each([{}, { numberOfNodes: -1 }])('with %j every node that answers gets a chunk [E3]', async (config) => {
    const execution = await run('echo', lists(8), config);
    expect(await ended(execution)).toMatchObject({ state: 'done', config });
    const chunks = await execution.chunks();
    expect(chunks.map(({ items }) => items)).toEqual([2, 2, 2, 2]);
    expect(chunks.map(({ node }) => node).sort()).toEqual(await fleet.nodeIds());
  });

  test('a topic is published to the nodes that subscribe; one without subscribers waits and says so [E1]', async () => {
    const even = await run('echo', lists(6), {}, { topic: 'even' });
    expect(await ended(even)).toMatchObject({ state: 'done', topic: 'even' });
    const { rows } = await fleet.database.pool.query<{ id: string }>(
      `select id from node where 'even' = any(topics) order by id`,
    );
    expect(rows).toHaveLength(2);
    expect((await even.chunks()).map(({ node }) => node).sort()).toEqual(rows.map(({ id }) => id));

    const odd = await run('echo', lists(2), {}, { topic: 'odd' });
    const why =
      'no live node subscribes to topic "odd". Add it to `executions.topics` in the config file of a node, or send the request without a topic';
    expect(odd).toMatchObject({ code: '503', message: expect.stringContaining(why) });
    const waits = `no node answered the roll call (1 wanted): ${why}; the execution continues when a node answers`;
    await eventually(async () => (await odd.status()).message === waits);
    expect(await odd.chunks()).toEqual([]);
    const subscriber = await fleet.node({ topics: ['odd'] });
    expect(await ended(odd)).toMatchObject({ state: 'done', message: null });
    await subscriber();
  });

  test('what is answered at once says whether nodes can run it [E2]', async () => {
    expect(await run('echo', lists(3), { numberOfNodes: 2 })).toMatchObject({
      code: '202',
      message: 'Accepted: items: 3, nodes that can run them now: 2.',
    });
    const missing = await run('missing', lists(1), {}, { maxAttempts: 1 });
    expect(missing).toMatchObject({
      code: '404',
      message: expect.stringContaining('no node that answers has function "missing"'),
    });
    await ended(missing);
    const nowhere = await run('echo', lists(1), { attributes: { zone: 'mars' } });
    expect(nowhere).toMatchObject({
      code: '503',
      message: expect.stringContaining(
        'no such node has the attributes zone=mars. Add them to `executions.attributes`',
      ),
    });
    await nowhere.cancel();
  });

  test('only nodes with the attributes asked for, and none that has no batch support [E3]', async () => {
    const plain = await fleet.startNode();
    const execution = await run('echo', lists(6), { attributes: { zone: 'us' } });
    await ended(execution);
    const { rows } = await fleet.database.pool.query<{ id: string }>(
      `select id from node where attributes ->> 'zone' = 'us' order by id`,
    );
    expect((await execution.chunks()).map(({ node }) => node).sort()).toEqual(rows.map(({ id }) => id));
    await plain();
  });

  test.each([
    [2, 2],
    [50, 4],
    [undefined, 4],
  ])('max_attempts %p with the operator at 4: %i runs of each, then -2 [E10]', async (maxAttempts, expected) => {
    const execution = await run('fails', lists(2), {}, maxAttempts === undefined ? {} : { maxAttempts });
    const view = await ended(execution);
    expect(view).toMatchObject({ state: 'done', attemptsLimit: expected, counts: { permanentlyFailed: 2 } });
    expect([runs.of(0), runs.of(1)]).toEqual([expected, expected]);
  });

  test('what each end keeps: stdout, stderr, exit code, attempts; a retry goes to another node [E6 E11]', async () => {
    const execution = await run('fails', [['x']], { numberOfNodes: 1 }, { maxAttempts: 3 });
    await ended(execution);
    expect(new Set((await execution.chunks()).map(({ node }) => node)).size).toBe(3);
    for await (const item of execution.items())
      expect(item).toMatchObject({
        state: 'permanently-failed',
        attempts: 3,
        exitCode: 3,
        stdout: 'half',
        stderr: 'no',
      });
  });

  test.each([
    ['throws', 1, 'not today'],
    ['odd', null, 'expected a string, or {stdout?, stderr?, exitCode?, metadata?}'],
    ['missing', null, 'the function missing is missing on this node: this node has echo, fails'],
  ])('%s: failed with the reason [E6]', async (functionId, exitCode, reason) => {
    const execution = await run(functionId, [['x']], {}, { maxAttempts: 1 });
    await ended(execution);
    for await (const item of execution.items())
      expect(item).toMatchObject({ state: 'permanently-failed', exitCode, stderr: expect.stringContaining(reason) });
  });

  test('a run that does not end in its time is failed; output is cut at the limit', async () => {
    const slow = await run('slow', [['x']], { timeoutMs: 50 }, { maxAttempts: 1 });
    const env = await run('env', [['x']], { envVars: { NAME: 'muster' } });
    await Promise.all([ended(slow), ended(env)]);
    for await (const item of slow.items())
      expect(item).toMatchObject({ exitCode: null, stderr: 'no answer within 50 ms' });
    for await (const item of env.items()) {
      expect(item.stdout).toBe('run muster');
      expect(item.stderr).toMatch(/^x{65536}\n\[cut: 70000 bytes, the limit is 65536\]$/);
    }
  });

  test('the result document; three identical lists are 3 runs, 3 counted, under the md5, #2 and #3 [E13]', async () => {
    const execution = await run('echo', [['same'], ['same'], ['same'], ['a b'], ['a', 'b']], { numberOfNodes: 1 });
    await ended(execution);
    expect(runs.all).toHaveLength(5);
    const document = await execution.results();
    const [[chunk, { peer, results }]] = Object.entries(document.chunks) as [
      [string, (typeof document.chunks)[string]],
    ];
    expect(chunk).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(await fleet.nodeIds()).toContain(peer);
    expect(document).toEqual({ chunks: expect.anything(), code: '200', request_id: execution.id });
    const keys = Object.keys(results);
    expect(keys).toEqual([keys[0], `${keys[0]}#2`, `${keys[0]}#3`, keys[3], `${keys[3]}#2`]);
    expect(results[keys[1]!]).toEqual({
      result: {
        stdout: 'same',
        stderr: '',
        exit_code: 0,
        usage: { wall_ms: expect.any(Number), cpu_ms: null, memory_bytes: null, stdout_bytes: 4, stderr_bytes: 0 },
        metadata: {},
      },
      function_invocation: 'echo/run',
      arguments: ['same'],
    });
    let text = '';
    for await (const piece of execution.resultText()) text += piece;
    expect(JSON.parse(text)).toEqual(document);
    const pages = [];
    for await (const page of execution.resultPages(2)) pages.push(Object.keys(page.results).length);
    expect(pages).toEqual([2, 2, 1]);
  });

  test('partial results and progress while it runs; cancel ends it, interrupts what runs, and keeps what was done [E2]', async () => {
    const node = await fleet.node(
      functionsOf({
        some: (args, { signal }) =>
          args[0] === 'item-0'
            ? 'first'
            : new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      }),
    );
    const execution = await run('some', lists(3));
    const progress = await eventually(async () => ((now) => now.counts.done === 1 && now)(await execution.progress()));
    expect(progress).toEqual({
      state: 'in-progress',
      items: 3,
      share: 1 / 3,
      counts: { created: 0, inProgress: 2, done: 1, failed: 0, permanentlyFailed: 0 },
    });
    expect(await execution.results()).toMatchObject({
      message: 'in-progress: 1 of 3 items done, 0 permanently failed',
    });
    const view = await execution.cancel();
    expect(view).toMatchObject({ state: 'cancelled', counts: { created: 2, inProgress: 0, done: 1 } });
    const workflow = (await fleet.client.temporal()).workflow.getHandle(
      executionWorkflowId(fleet.prefix, execution.id),
    );
    await workflow.result();
    expect((await execution.cancel()).state).toBe('cancelled');
    expect((await fleet.client.verify({ full: true })).ok).toBe(true);
    await node();
  });

  test('a chunk runs as many items at once as it is told to, and one without', async () => {
    let most = 0;
    let now = 0;
    const gauge = async (): Promise<void> => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 20));
      now--;
    };
    const node = await fleet.node(functionsOf({ gauge }));
    await ended(await run('gauge', lists(6)));
    expect(most).toBe(1);
    await ended(await run('gauge', lists(20), { concurrency: 5 }));
    expect(most).toBe(5);
    await node();
  });

  test('a rate per target host: 10 runs at 20 a second to one host take at least 450 ms', async () => {
    const LATE_MS = 40; // a faster rate, of 22 a second, would be seen
    const at: Record<string, number[]> = {};
    const node = await fleet.node(
      functionsOf({ call: ([url]) => void (at[new URL(url!).host] ??= []).push(performance.now()) }),
    );
    const urls = lists(20).map((_, i) => [`https://${i % 2 === 0 ? 'one' : 'two'}.example/${i}`]);
    await ended(await run('call', urls, { ratePerHost: 20, concurrency: 4 }));
    for (const times of Object.values(at)) {
      expect(times).toHaveLength(10);
      // The turns are 450 ms apart; the first run may begin late after its turn, the last in time.
      expect(times.at(-1)! - times[0]!).toBeGreaterThan(450 - LATE_MS);
    }
    await node();
  });

  test('bad input: nothing is accepted, the field is named', async () => {
    await expect(run('', lists(1))).rejects.toThrow('functionId: expected 1-512 bytes');
    await expect(fleet.client.execute({ functionId: 'a' } as never, lists(1))).rejects.toThrow('method: expected');
    await expect(run('echo', lists(1), { nodes: 3 })).rejects.toThrow('config.nodes: expected only numberOfNodes');
    await expect(run('echo', lists(1), { numberOfNodes: 0 })).rejects.toThrow(
      'config.numberOfNodes: expected -1 (every node that answers) or a whole number from 1 to 10,000',
    );
    await expect(run('echo', [['a\0b']])).rejects.toThrow('arguments[0][0]: expected well-formed text without NUL');
    await expect(run('echo', [['x'.repeat(300_000)]])).rejects.toThrow('arguments[0]: expected at most 262144 bytes');
    await expect(run('echo', [])).rejects.toThrow('expected at least one argument list');
    await expect(fleet.client.execution('0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b11').status()).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(() => fleet.client.execution('17')).toThrow('execution: expected a uuid, got "17"');
  });
});
