import type { WorkItemView } from '../../client';
import type { FunctionAnswer } from '../../handlers/functions';
import type { Fleet } from './helpers';
import { ended, openFleet } from './helpers';

/** What a result keeps beside outputs and exit code. */

let fleet: Fleet;
beforeAll(async () => {
  fleet = await openFleet({
    says: async ([kind]): Promise<FunctionAnswer> => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      if (kind === 'long') return { stdout: 'é'.repeat(40_000), exitCode: 2, metadata: { kind } };
      if (kind === 'many') return { stdout: 'kept', metadata: { text: 'x'.repeat(4_096) } };
      if (kind === 'null') return { stdout: 'kept', metadata: null } as unknown as FunctionAnswer;
      return { metadata: { model: 'small', kind: kind! } };
    },
  });
  await fleet.node();
});
afterAll(() => fleet.stop());

test('each result says what its run used, and what the function says of it, within limits [E6 E13]', async () => {
  const execution = await fleet.run('says', [['short'], ['long'], ['many']], {}, { maxAttempts: 1 });
  await ended(execution);
  const [short, long, many] = (await execution.itemPage({ limit: 3 })) as [WorkItemView, WorkItemView, WorkItemView];
  expect(short).toMatchObject({ state: 'done', metadata: { model: 'small', kind: 'short' } });
  expect(short.usage).toEqual({
    wallMs: expect.any(Number),
    cpuMs: null,
    memoryBytes: null,
    stdoutBytes: 0,
    stderrBytes: 0,
  });
  expect(short.usage!.wallMs).toBeGreaterThan(28);
  // All bytes that it wrote, of which the first 65,536 are kept.
  expect(long).toMatchObject({ exitCode: 2, metadata: { kind: 'long' }, usage: { stdoutBytes: 80_000 } });
  expect(many).toMatchObject({
    state: 'permanently-failed',
    exitCode: null,
    metadata: null,
    stdout: 'kept',
    stderr: expect.stringContaining('function says: expected metadata of at most 32 texts by name, 4096 bytes'),
  });
  const document = await execution.results();
  const results = Object.values(document.chunks).flatMap((chunk) => Object.values(chunk.results));
  expect(results.map(({ result }) => [result.usage?.stdout_bytes, result.metadata])).toEqual([
    [0, { model: 'small', kind: 'short' }],
    [80_000, { kind: 'long' }],
    [4, {}],
  ]);
});

test('metadata that is null is refused as what it is, and what the function wrote is kept', async () => {
  const execution = await fleet.run('says', [['null']], {}, { maxAttempts: 1 });
  await ended(execution);
  const [item] = (await execution.itemPage({ limit: 1 })) as [WorkItemView];
  expect(item).toMatchObject({
    ...{ state: 'permanently-failed', exitCode: null, metadata: null, stdout: 'kept' },
    stderr: expect.stringContaining('function says: expected metadata of at most 32 texts by name'),
  });
});
