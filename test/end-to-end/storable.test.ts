import fc from 'fast-check';
import type { ItemResult } from '../../handlers';
import { cutText, defineHandler } from '../../handlers';
import { ResultPages } from '../../activities/calls/resultPages';
import { RESULT_BYTES_MAX, RESULT_LEVELS_MAX, toStorable } from '../../handlers/storable';
import { toCall } from '../../activities/calls/request';
import { settle } from '../../activities/calls/settle';
import { findReportedByReference } from '../../postgres/accepted/completion';
import { readMemberIds } from '../../postgres/calls/members';
import type { ResultPage } from '../../postgres/calls/records';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * What a downstream answers must be storable whatever it is: what cannot be held is replaced, the
 * task says so, and its batch-mates keep theirs.
 *
 * @slow
 */

/**
 * Any sequence of 16-bit units, rich in U+0000, half surrogate pairs and what looks like their
 * escapes.
 */
const unit = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  fc.constantFrom('\0', '\ud800', '\udfff', '\ud83d\ude00', '\\', '\\u0000', '\\\\u0000', '\\ud800', '"', 'a'),
);
const text = fc.array(unit, { maxLength: 12 }).map((units) => units.join(''));
const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    text,
    fc.constantFrom(null, true, 0, -1.5e300, '', 'plain'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

const storable = (one: string): string => one.toWellFormed().replaceAll('\0', '\ufffd');
/**
 * What must come back: the same value, its texts and keys storable; of two keys that become one the
 * later counts.
 */
const expected = (value: unknown): unknown => {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  return JSON.parse(
    `{${Object.entries(value)
      .map(([key, inner]) => `${JSON.stringify(storable(key))}:${JSON.stringify(expected(inner))}`)
      .join()}}`,
  );
};

/** By task id: what the downstream says of it, and of its batch. */
const said = new Map<string, () => ItemResult>();
const answers = new Map<string, () => unknown>();
let calls = 0;
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([
    defineHandler<{ to: string }>({
      name: 'echo',
      target: ({ to }) => to,
      limits: { maxItems: 20 },
      linger: { lingerMs: 10 },
      retry: { maxAttempts: 2, delayed: { baseMs: 10, maxMs: 20 } },
      submit: async (batch) => {
        calls++;
        const answer = answers.get(batch.target);
        if (answer !== undefined) return answer() as never;
        return { results: batch.tasks.map(({ id }) => said.get(id)!()) };
      },
    }),
  ]);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

let run = 0;
const send = async (items: readonly (() => Partial<ItemResult>)[]) => {
  const to = `to-${++run}`;
  const tasks = items.map((item, i) => {
    const id = `${to}-${i}`;
    said.set(id, () => ({ id, status: 'ok', ...item() }));
    return { id, payload: { to } };
  });
  calls = 0;
  await muster.client.submit('echo', tasks);
  const ids = tasks.map(({ id }) => id);
  await muster.client.waitFor(ids, { timeoutMs: 60_000 });
  return muster.client.getTasks(ids);
};

test('any JSON, with any text in it, comes back as it went in but for what cannot be stored, and says so', async () => {
  const item = fc.record({ result: json, error: text, status: fc.constantFrom('ok' as const, 'failed' as const) });
  await fc.assert(
    fc.asyncProperty(fc.array(item, { minLength: 2, maxLength: 12 }), async (items) => {
      const tasks = await send(items.map((one) => () => one));
      expect(calls).toBe(1);
      for (const [i, { state, error, result, resultNote, attempts }] of tasks.entries()) {
        const { status, result: given, error: told } = items[i]!;
        expect([state, attempts]).toEqual([status === 'ok' ? 'succeeded' : 'failed', 1]);
        expect(result).toEqual(expected(given));
        expect(resultNote === undefined).toBe(JSON.stringify(expected(given)) === JSON.stringify(given));
        if (resultNote !== undefined) expect(resultNote).toMatch(/^\d+ characters? replaced by U\+FFFD/);
        if (status === 'failed') expect(error).toBe(cutText(told));
      }
    }),
    { numRuns: rounds(6, 12), seed: 8 },
  );
});

test('the rule alone, over many more values: the JSON is exact, and the note is there only where something changed', () => {
  fc.assert(
    fc.property(json, (value) => {
      const { json: stored, note, bytes } = toStorable(value)!;
      expect(JSON.parse(stored)).toEqual(expected(value));
      expect(bytes).toBe(Buffer.byteLength(stored));
      expect(note === null).toBe(JSON.stringify(expected(value)) === JSON.stringify(value));
    }),
    { numRuns: rounds(1_000, 3_000) },
  );
});

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { '\\"]': value };
  return value;
};
const circular: unknown[] = [];
circular.push(circular);

test('what cannot be held at all is left out with the true reason: its status stands, its mates keep their values, one call', async () => {
  const left: [unknown, RegExp | null][] = [
    [nested(RESULT_LEVELS_MAX), null],
    [nested(RESULT_LEVELS_MAX + 1), /^left out: more than 500 levels of nesting$/],
    [nested(200_000), /^left out: it cannot be written as JSON \(RangeError: Maximum call stack size exceeded\)$/],
    ['x'.repeat(RESULT_BYTES_MAX - 2), null],
    ['é'.repeat(RESULT_BYTES_MAX / 2), /^left out: 1000002 bytes of JSON, the limit is 1000000$/],
    [10n, /^left out: it cannot be written as JSON \(TypeError: Do not know how to serialize a BigInt\)$/],
    [circular, /^left out: it cannot be written as JSON \(TypeError: Converting circular structure/],
    [
      {
        toJSON: () => {
          throw new Error('no\0');
        },
      },
      /^left out: it cannot be written as JSON \(no\ufffd\)$/,
    ],
  ];
  const tasks = await send([...left.map(([result]) => () => ({ result })), () => ({ result: 'mate' })]);
  expect(calls).toBe(1);
  expect(tasks.map(({ state }) => state)).toEqual(tasks.map(() => 'succeeded'));
  expect(tasks.at(-1)).toMatchObject({ result: 'mate' });
  expect(tasks.at(-1)).not.toHaveProperty('resultNote');
  for (const [i, [value, why]] of left.entries()) {
    const { result, resultNote } = tasks[i]!;
    if (why === null) expect([JSON.stringify(result) === JSON.stringify(value), resultNote]).toEqual([true, undefined]);
    else expect([result, resultNote]).toEqual([null, expect.stringMatching(why)]);
  }
});

test('all results of a batch are bounded: the first ones are kept, the others are left out', async () => {
  const pages: ResultPage[] = [];
  const limits = { resultBytes: 1_000, batchBytes: 3_000, levels: 5 };
  const into = new ResultPages(1, 1, async (page) => void pages.push(page), limits);
  for (let i = 0; i < 5; i++) await into.add(i, 'x'.repeat(998));
  await into.add(5, 'ab');
  const entries = [...pages, ...(await into.rest())].flatMap(({ results }) => JSON.parse(results) as unknown[][]);
  expect(entries.map(([place, value]) => [place, value === null])).toEqual([
    [0, false],
    [1, false],
    [2, false],
    [3, true],
    [4, true],
    [5, true],
  ]);
  expect(entries[3]![2]).toBe('left out: the results of its batch are more than 3000 bytes of JSON in all');
});

test.each([
  ['U+0000', 'a\0b'],
  ['half a surrogate pair', 'half \ud800'],
  ['too long', 'x'.repeat(2_001)],
  ['empty', ''],
])(
  'an acceptance under a reference that cannot be kept exactly is unreadable, with that as the reason: %s',
  async (_, reference) => {
    answers.set(`to-${run + 1}`, () => ({ status: 'accepted', reference }));
    const [task] = await send([() => ({})]);
    expect(calls).toBe(1);
    expect(task!.state).toBe('unknown');
    expect(task!.error).toMatch(
      /^unreadable answer: status 'accepted' needs a reference of 1-2,000 bytes of well-formed text without U\+0000/,
    );
  },
);

test('a verdict by hand is refused where it could not be kept as it is', async () => {
  answers.set(`to-${run + 1}`, () => ({ status: 'nonsense' }));
  const [task] = await send([() => ({})]);
  const verdict = (result: unknown) => muster.client.resolve({ tasks: [task!.id] }, { as: 'succeeded', result });
  await expect(verdict({ a: 'b\0' })).rejects.toThrow(
    /result: expected a JSON value that can be stored unchanged, got .*1 character replaced/,
  );
  await expect(verdict(10n)).rejects.toThrow(/left out: it cannot be written as JSON/);
  await verdict({ a: 'b' });
  expect((await muster.client.getTask(task!.id))!.result).toEqual({ a: 'b' });
});

test('an answer that Postgres refuses in spite of all checks is unknown, with that as its reason', async () => {
  answers.set(`to-${run + 1}`, () => ({ status: 'accepted', reference: 'in time' }));
  const to = `to-${++run}`;
  await muster.client.submit('echo', [{ id: `${to}-0`, payload: { to } }]);
  const { pool } = muster.database;
  const batch = await eventually(async () => (await findReportedByReference(pool, 'echo', 'in time'))[0]);
  const { handlers, homes } = muster.node.deps;
  const deps = { handler: handlers.get('echo')!, home: homes.queue };
  const call = toCall(deps, { batch, members: await readMemberIds(pool, [batch.id]), attempt: batch.attempt });
  const settled = await settle(call, { kind: 'accepted', reference: 'a\0b' });
  expect(settled).toMatchObject({ written: true, kind: 'park' });
  const task = (await muster.client.getTask(`${to}-0`))!;
  expect(task.state).toBe('unknown');
  expect(task.error).toMatch(/^the answer cannot be stored: .*invalid byte sequence for encoding "UTF8": 0x00/);
});
