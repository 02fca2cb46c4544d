import fc from 'fast-check';
import { defineHandler } from '../../../handlers';
import { NOT_PLAIN, plainCopy } from '../../../client/tasks/calls/plainCopy';
import { checkTask } from '../../../client/tasks/checkTasks';
import type { TaskProblem } from '../../../client/errors';

/** What the functions of a handler get of a payload: what is stored, whatever was submitted. */

const parsedAgain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

test('of any JSON it is what the text says when it is parsed again, and shares nothing that can change', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      const copy = plainCopy(value);
      fc.pre(copy !== NOT_PLAIN); // -0 and "__proto__"
      expect(copy).toStrictEqual(parsedAgain(value));
      if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
    }),
    { numRuns: 30 },
  );
});

test('of any value at all it is that, or says that the value is not plain', () => {
  fc.assert(
    fc.property(fc.anything({ withDate: true, withSparseArray: true, withBigInt: true }), (value) => {
      const copy = plainCopy(value);
      if (copy !== NOT_PLAIN) expect(copy).toStrictEqual(parsedAgain(value));
    }),
    { numRuns: 200 },
  );
});

test.each([
  ['undefined', undefined],
  ['undefined inside', { a: undefined }],
  ['a hole', [1, , 2]],
  ['-0', { a: -0 }],
  ['NaN', [NaN]],
  ['a Date', new Date(0)],
  ['a class', new (class Own {})()],
  ['an array that says what it is', Object.assign([1], { toJSON: () => 2 })],
  ['an array of a class', new (class Own extends Array {})()],
  ['a hidden toJSON', Object.defineProperty({}, 'toJSON', { value: () => 1 })],
  ['its own toJSON', { toJSON: () => 1 }],
  ['no prototype', Object.create(null) as unknown],
  ['a name that sets a prototype', JSON.parse('{"__proto__":{"a":1}}') as unknown],
  ['a bigint', 1n],
])('%s is not plain', (_, value) => expect(plainCopy(value)).toBe(NOT_PLAIN));

const check = (payload: unknown, target: (content: { to: string[] }) => string) => {
  const problems: TaskProblem[] = [];
  const handler = defineHandler<{ to: string[] }>({
    name: 'orders',
    target,
    limits: { maxItems: 1 },
    submit: () => Promise.resolve({ results: [] }),
  });
  const task = checkTask(handler, { id: 'a', payload }, 0, problems);
  expect(problems).toEqual([]);
  return task!;
};

test("a handler's function that changes what it gets changes neither the caller's payload nor what is stored", () => {
  const payload = { to: ['b', 'a'] };
  const task = check(payload, (content) => content.to.sort()[0]!);
  expect([task.target, task.payload, payload]).toEqual(['a', '{"to":["b","a"]}', { to: ['b', 'a'] }]);
});

test('a payload that says something else each time is stored as the function got it', () => {
  let reads = 0;
  const payload = {
    get to() {
      return [`read ${++reads}`];
    },
  };
  const task = check(payload, ({ to }) => to[0]!);
  expect([task.target, task.payload]).toEqual(['read 1', '{"to":["read 1"]}']);
});

test('a payload that JSON changes reaches the function as it is stored', () => {
  const task = check(
    { to: [new Date(0)], left: undefined },
    (content) => `${Object.keys(content).join()} ${content.to[0]!}`,
  );
  expect(task.target).toBe('to 1970-01-01T00:00:00.000Z');
});
