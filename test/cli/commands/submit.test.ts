import { readdirSync, readlinkSync } from 'node:fs';
import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld, order } from '../world';

/** @slow */

let world: World;
let worker: CliProcess;
beforeAll(async () => {
  world = await createWorld();
  worker = await world.worker();
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.exit;
  await world.close();
});
beforeEach(() => void world.downstream.calls.splice(0));

const accepted = async (): Promise<number> => {
  const { rows } = await world.database.pool.query<{ n: number }>({ text: 'select count(*) as n from task' });
  return rows[0]!.n;
};

test('submit --wait, in text: what was accepted and how it ended [Build 7]', async () => {
  world.write('tasks.ndjson', [order('text-1', 'se'), order('text-2', 'se'), order('text-3', 'no')]);
  const { code, stdout, stderr } = await world.run('submit orders --file tasks.ndjson --wait');
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('accepted 3 tasks') });
  expect(stdout).toMatch(/^succeeded +3\nafter +[\d.]+ m?s\n$/);
  expect(world.downstream.calls.map((call) => call.ids)).toEqual(
    expect.arrayContaining([['text-1', 'text-2'], ['text-3']]),
  );
});

const scratchFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    const file = readlinkOf(`/proc/self/fd/${fd}`);
    return /\/muster-[^/]+ \(deleted\)$/.test(file) ? [file] : [];
  });
const readlinkOf = (link: string): string => {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // closed meanwhile
  }
};

test('submit --wait closes the files of ids that it waits for', async () => {
  world.write('open.ndjson', [order('open-1', 'se')]);
  const before = scratchFiles();
  expect((await world.run('submit orders --file open.ndjson --wait')).code).toBe(0);
  world.write('none.ndjson', '');
  await world.run('submit orders --file none.ndjson --wait');
  expect(scratchFiles().filter((file) => !before.includes(file))).toEqual([]);
});

test('a line may depend on others: it is sent when they have succeeded, and fails with them', async () => {
  const waits = (id: string, dependsOn: string) => ({ ...order(id, 'dk'), dependsOn: [dependsOn] });
  world.write('chain.ndjson', [
    order('first', 'se'),
    waits('second', 'first'),
    order('fails', 'se', 2, 'failed'),
    waits('unsent', 'fails'),
  ]);
  const { code, lines } = await world.run('submit orders --file chain.ndjson --wait --json');
  expect(code).toBe(1);
  const ends = lines<{ id?: string }>().filter(({ id }) => id !== undefined);
  expect(new Map(ends.map((end) => [end.id, end]))).toEqual(
    new Map([
      ['first', expect.objectContaining({ state: 'succeeded' })],
      ['second', expect.objectContaining({ state: 'succeeded' })],
      ['fails', expect.objectContaining({ state: 'failed' })],
      ['unsent', expect.objectContaining({ state: 'failed', error: 'dependency "fails" failed' })],
    ]),
  );
  expect(world.downstream.calls.flatMap(({ ids }) => ids)).not.toContain('unsent');
});

test('--json --wait is NDJSON, a task a line and a summary at the end; exit code 1 if one failed [Build 7]', async () => {
  world.write('mixed.ndjson', [order('json-1', 'se', 21), order('json-2', 'se', 1, 'failed')]);
  const result = await world.run('submit orders --file mixed.ndjson --wait --json');
  expect(result.code).toBe(1);
  expect(result.lines()).toEqual([
    { id: 'json-1', state: 'succeeded', attempts: 1, result: { double: 42 } },
    { id: 'json-2', state: 'failed', attempts: 1, error: 'no such thing' },
    {
      summary: expect.objectContaining({
        handler: 'orders',
        accepted: 2,
        repeated: 0,
        refused: 0,
        states: { succeeded: 1, failed: 1 },
        bad: 1,
        timedOut: false,
      }),
    },
  ]);
});

test('the same file again: the same tasks, no call [A1]', async () => {
  world.write('again.ndjson', [order('again-1', 'se')]);
  await world.run('submit orders --file again.ndjson --wait');
  const result = await world.run('submit orders --file again.ndjson --wait --json');
  expect(result.code).toBe(0);
  expect(result.lines().at(-1)).toMatchObject({ summary: { accepted: 0, repeated: 1, states: { succeeded: 1 } } });
  expect(world.downstream.calls).toHaveLength(1);
});

test('from standard input, with blank lines, CRLF and a byte order mark [Build 7]', async () => {
  const text = `\ufeff${JSON.stringify(order('stdin-1', 'se'))}\r\n\r\n${JSON.stringify(order('stdin-2', 'no'))}`;
  const result = await world.run('submit orders --file - --json', text);
  expect(result.json()).toEqual({ handler: 'orders', accepted: 2, repeated: 0, refused: 0, problems: [] });
  expect(result.code).toBe(0);
});

const BAD = [
  order('bad-1', 'se'),
  'not json',
  { payload: { country: 'se', n: 1 } },
  order('bad-4', 'se', 'text' as never),
  { ...order('bad-5', 'se'), notbefore: '2030-01-01' },
  { ...order('bad-6', 'se'), notBefore: 'soon' },
];
const badFile = BAD.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');

test('bad lines are named by number and reason, all of them, and nothing of the file is accepted [Build 7]', async () => {
  world.write('bad.ndjson', badFile);
  const before = await accepted();
  const text = await world.run('submit orders --file bad.ndjson');
  expect(text.code).toBe(2);
  expect(text.stdout).toBe('');
  expect(text.stderr).toContain('bad.ndjson has 5 bad lines, nothing was accepted');
  expect(text.stderr).toContain('line 2: expected one JSON object {"id", "payload"}, got "not json"');
  expect(text.stderr).toContain('line 3, id: expected 1-256 bytes of text, got nothing');
  expect(text.stderr).toMatch(/line 4 \(id "bad-4"\), payload\.n: .*expected number/);
  expect(text.stderr).toContain(
    'line 5 (id "bad-5"): expected only id, payload, notBefore, expiresAt, priority, callback, dependsOn, ' +
      'onDependencyFailure, tags, metadata, got "notbefore"; did you mean "notBefore"?',
  );
  expect(text.stderr).toContain('line 6 (id "bad-6"), notBefore: expected an ISO time');
  expect(text.stderr).not.toContain('    at ');
  const json = await world.run('submit orders --file bad.ndjson --json');
  expect(json.code).toBe(2);
  expect(json.json<{ error: { problems: object[] } }>().error).toMatchObject({
    code: 'INVALID_LINES',
    problemCount: 5,
  });
  expect(json.json<{ error: { problems: { line: number }[] } }>().error.problems.map(({ line }) => line)).toEqual([
    2, 3, 4, 5, 6,
  ]);
  expect(await accepted()).toBe(before);
});

test('--partial accepts the good lines, names the others, and its exit code says so [Build 7]', async () => {
  const result = await world.run(
    'submit orders --file - --partial --wait --json',
    badFile.replaceAll('bad-', 'partial-'),
  );
  expect(result.code).toBe(1);
  expect(result.lines()).toEqual([
    { id: 'partial-1', state: 'succeeded', attempts: 1, result: { double: 2 } },
    { summary: expect.objectContaining({ accepted: 1, refused: 5, states: { succeeded: 1 } }) },
  ]);
});

test('a file of many chunks is one transaction: a conflict in its last line leaves nothing of it [Build 7]', async () => {
  await world.run('submit slow --file -', JSON.stringify(order('conflict', 'se', 1)));
  const before = await accepted();
  const many = Array.from({ length: 12_000 }, (_, i) => order(`many-${i}`, `c${i % 7}`, i));
  world.write('many.ndjson', [...many, order('conflict', 'se', 2)]);
  const refused = await world.run('submit slow --file many.ndjson --json');
  expect(refused.code).toBe(2);
  expect(refused.json()).toMatchObject({
    error: {
      code: 'INVALID_LINES',
      problemCount: 1,
      problems: [{ line: 12_001, id: 'conflict', field: 'id', code: 'ID_CONFLICT' }],
    },
  });
  expect(await accepted()).toBe(before);
  world.write('many.ndjson', many);
  expect((await world.run('submit slow --file many.ndjson --json')).json()).toMatchObject({ accepted: 12_000 });
  expect(await accepted()).toBe(before + 12_000);
});

test('--timeout ends the waiting with code 4, not the tasks [Build 7]', async () => {
  const result = await world.run(
    'submit slow --file - --wait --timeout 200ms --json',
    JSON.stringify(order('late', 'se')),
  );
  expect(result.code).toBe(4);
  expect(result.lines()).toEqual([{ summary: expect.objectContaining({ accepted: 1, open: 1, timedOut: true }) }]);
  expect((await world.run('task late --json')).json()).toMatchObject({ state: 'created' });
});

test('maxQueued: a file that would exceed it is refused with code 5, nothing of it is accepted', async () => {
  const before = await accepted();
  world.write(
    'four.ndjson',
    [1, 2, 3, 4].map((n) => order(`narrow-${n}`, 'se', n)),
  );
  const result = await world.run('submit narrow --file four.ndjson --json');
  expect(result.code).toBe(5);
  expect(result.json()).toMatchObject({ error: { code: 'BACKLOGGED' } });
  expect(await accepted()).toBe(before);
});

test.each([
  ['an array in place of lines', '[{"id":"a","payload":{}}]', /not an array: jq -c "\.\[\]" converts it/],
  [
    'a line above the limit',
    `{"id":"a","payload":"${'x'.repeat(3_000_000)}"}`,
    /line 1: expected a line of at most \d+ bytes, got a longer one/,
  ],
  [
    'a payload above the limit',
    `{"id":"a","payload":{"country":"${'x'.repeat(300_000)}","n":1}}`,
    /line 1 \(id "a"\), payload: expected at most 262144 bytes of JSON, got \d+/,
  ],
  [
    'an empty target',
    '{"id":"a","payload":{"country":"","n":1}}',
    /line 1 \(id "a"\), target: expected 1-512 bytes, got 0/,
  ],
  [
    'a NUL in an id',
    '{"id":"a\\u0000b","payload":{"country":"se","n":1}}',
    /line 1 \(id .*\), id: expected no NUL character/,
  ],
])('bad input: %s', async (_, line, message) => {
  const result = await world.run('submit orders --file -', line);
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(message);
});

test('hostile ids and targets are kept as they are, and no terminal obeys them', async () => {
  const id = `'; drop table task; -- "../../etc" \u{1f600} \u001b[31m`;
  const result = await world.run(
    'submit orders --file - --wait',
    JSON.stringify(order(id, '../"\u{1f600}\'', 1, 'failed')),
  );
  expect(result.code).toBe(1);
  expect(result.stdout).toContain(`'; drop table task; -- "../../etc" \u{1f600} \\u001b[31m: no such thing`);
  // The 12,000 tasks of another handler may still be under way.
  expect(world.downstream.calls.filter(({ ids }) => ids.includes(id))).toEqual([
    { target: '../"\u{1f600}\'', ids: [id] },
  ]);
});
