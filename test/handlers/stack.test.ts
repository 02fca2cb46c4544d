import path from 'node:path';
import { HaltError, LaterError, RejectedError, stackOf } from '../../handlers';
import { userFrame } from '../../handlers/stack';
import { ThrownLog } from '../../activities/calls/thrownLog';

const own = path.resolve(__dirname, '../../handlers/call.ts');
const withStack = (frames: string[], cause?: unknown): Error =>
  Object.assign(
    new Error('a message'),
    { stack: ['Error: a message', 'of two lines', ...frames.map((frame) => `    at ${frame}`)].join('\n') },
    cause === undefined ? {} : { cause },
  );

test.each<[string, unknown, string | null]>([
  [
    "the user's frames, without the message and what called them",
    withStack([
      'send (/app/muster.config.ts:17:11)',
      'submit (/app/muster.config.ts:9:3)',
      `callHandler (${own}:5:1)`,
      '/app/other.ts:1:1',
    ]),
    'at send (/app/muster.config.ts:17:11)\nat submit (/app/muster.config.ts:9:3)',
  ],
  [
    'of a library, two frames before the first of the user',
    withStack([
      'a (node:internal/a:1:1)',
      'b (/app/node_modules/b/b.js:1:1)',
      'c (node:internal/c:1:1)',
      'async submit (/app/h.ts:2:2)',
    ]),
    'at b (/app/node_modules/b/b.js:1:1)\nat c (node:internal/c:1:1)\nat async submit (/app/h.ts:2:2)',
  ],
  ["Muster's own alone", withStack([`callHandler (${own}:5:1)`, 'run (node:internal/a:1:1)']), null],
  ['the cause has them', withStack(['a (node:internal/a:1:1)'], withStack(['/app/h.ts:3:3'])), 'at /app/h.ts:3:3'],
  ['a text', 'broken', null],
  ['nothing', undefined, null],
  [
    'a getter that throws',
    {
      get stack(): string {
        throw new Error('no');
      },
    },
    null,
  ],
])('stack: %s', (_, thrown, expected) => expect(stackOf(thrown)).toBe(expected));

test('a stack is bounded, and its first line of the user is found', () => {
  const deep = stackOf(withStack(Array.from({ length: 500 }, (_, i) => `f${i} (/app/${'x'.repeat(400)}.ts:${i}:1)`)));
  expect(deep!.length).toBeLessThanOrEqual(1_500);
  expect(userFrame('at b (/app/node_modules/b/b.js:1:1)\nat async submit (/app/h.ts:2:2)')).toBe('/app/h.ts:2:2');
  expect(userFrame('at async /app/h.ts:3:3')).toBe('/app/h.ts:3:3');
});

describe('what handlers throw is logged', () => {
  const lines: object[] = [];
  const log = { warn: (fields: object) => void lines.push(fields) };
  beforeEach(() => void (lines.length = 0));
  const at = (line: number): Error => withStack([`submit (/app/h.ts:${line}:1)`]);

  test('once per place, handler and function, whatever the message', () => {
    const thrown = new ThrownLog(log);
    for (let i = 0; i < 3; i++) thrown.report('orders', 'submit', Object.assign(at(1), { message: `order ${i}` }));
    thrown.report('orders', 'submit', at(2));
    thrown.report('orders', 'status', at(1));
    thrown.report('other', 'submit', at(1));
    for (const i of [1, 2]) thrown.report('other', 'submit', `text ${i}`);
    expect(lines).toHaveLength(5);
    expect(lines[0]).toEqual({
      handler: 'orders',
      call: 'submit',
      error: 'order 0',
      at: '/app/h.ts:1:1',
      stack: 'at submit (/app/h.ts:1:1)',
    });
    expect(lines[4]).toEqual({ handler: 'other', call: 'submit', error: 'thrown: "text 1"' });
  });

  test('no declared error, and none of ours', () => {
    const thrown = new ThrownLog(log);
    for (const error of [
      new RejectedError('no'),
      new LaterError('wait'),
      new HaltError('stop'),
      withStack([`f (${own}:1:1)`]),
    ])
      thrown.report('orders', 'submit', error);
    expect(lines).toEqual([]);
  });

  test('the memory is bounded: the oldest is forgotten', () => {
    const thrown = new ThrownLog(log, 3);
    for (const line of [1, 2, 3, 4, 4, 3, 2]) thrown.report('orders', 'submit', at(line));
    expect(lines).toHaveLength(4);
    thrown.report('orders', 'submit', at(1));
    expect(lines).toHaveLength(5);
  });
});
