import { httpHandler } from '../../../../handlers';
import { faultsIn, problemsIn } from '../../build';
import { httpConfig } from '../httpConfig';

/** Keys and weights of a handler in JSON as expressions in CEL. */

const url = 'https://api.example.com';
const make = (changes: object) =>
  httpHandler(httpConfig(url, { request: { url: `${url}/batch`, item: '{{payload}}' }, ...changes }));
const problems = (changes: object) => problemsIn(() => make(changes));
const cel = (text: string) => ({ cel: text });
const target = (text: string, payload: unknown) => make({ target: cel(text) }).target(payload);

const order = {
  region: 'se',
  n: 3,
  isLarge: true,
  lines: [
    { sku: 'a', n: 2 },
    { sku: 'b', n: 5 },
  ],
};

describe('a target', () => {
  test.each([
    ['payload.region', 'se'],
    ["payload.region + '-' + string(payload.n)", 'se-3'],
    ['payload.n', '3'],
    ['int(payload.n) % 2', '1'],
    ['payload.isLarge', 'true'],
    ["payload.n > 2 && payload.isLarge ? 'big' : 'small'", 'big'],
    ["has(payload.account) ? payload.account : 'none'", 'none'],
    ["payload.lines.map(l, l.sku).join('+')", 'a+b'],
    ["payload.lines.exists(l, l.n > 4) ? 'heavy' : 'light'", 'heavy'],
    ["payload.region.matches('^[a-z]{2}$') ? payload.region : 'other'", 'se'],
    ["payload['region']", 'se'],
    ['size(payload.lines)', '2'],
    ['uint(payload.n)', '3'],
  ])('%s', (text, expected) => {
    expect(target(text, order)).toBe(expected);
  });

  test.each([
    ['payload.account', {}, 'target: cannot be evaluated: No such key: account'],
    ['payload.n + 1', { n: 1 }, 'target: cannot be evaluated: no such overload: dyn<double> + int'],
    ['payload.a', { a: ['x'] }, "target.cel: expected text or a number (the target), got [ 'x' ]"],
    ['payload.a', { a: null }, 'target.cel: expected text or a number (the target), got null'],
    ['payload.a', { a: '' }, 'target.cel: expected 1-512 bytes (the target), got 0'],
    ["payload.a + 'x'", { a: 'x'.repeat(512) }, 'target.cel: expected 1-512 bytes (the target), got 513'],
    ['payload.a.b', 'text', 'target: cannot be evaluated:'],
  ])('%s of %j is refused at submit, with the reason', (text, payload, fault) => {
    const handler = make({ target: cel(text) });
    expect(faultsIn(handler, payload)[0]).toContain(fault);
    expect(() => handler.target(payload)).toThrow(fault);
  });
});

test('weight, distinctBy, service, reads and writes', () => {
  const handler = make({
    weight: cel('payload.lines.map(l, l.n).size() * 10'),
    distinctBy: cel("payload.region + ':' + string(payload.n)"),
    lane: {},
    service: cel("'orders-' + payload.region"),
    reads: [cel('payload.lines.map(l, l.sku)'), 'region'],
    writes: [cel("'stock/' + payload.lines[0].sku"), cel('payload.n > 2 ? ["many", "three"] : []')],
  });
  expect(handler.weightOf(order)).toBe(20);
  expect(handler.distinctBy!(order)).toBe('se:3');
  expect(handler.service!('t', order)).toBe('orders-se');
  expect(handler.reads!(order)).toEqual(['a', 'b', 'se']);
  expect(handler.writes!(order)).toEqual(['stock/a', 'many', 'three']);
  expect(faultsIn(handler, { ...order, to: 'a', lines: [] })).toEqual([
    expect.stringContaining('writes.0: cannot be evaluated: No such key: index out of bounds'),
  ]);
});

test('coalesceBy, by a path or an expression, and not beside distinctBy or a lane', () => {
  expect(make({ coalesceBy: 'region' }).coalesceBy!(order)).toBe('se');
  expect(make({ coalesceBy: cel("payload.region + '/' + payload.lines[0].sku") }).coalesceBy!(order)).toBe('se/a');
  expect(make({}).coalesceBy).toBeUndefined();
  expect(problems({ coalesceBy: 'region', distinctBy: 'n', lane: {} })).toEqual([
    'coalesceBy: expected none beside distinctBy, got both: it sends every task of a key',
    'coalesceBy: expected none beside lane, got both: a lane sends every task in its order',
  ]);
});

test.each([
  [
    { weight: cel('payload.n') },
    { to: 'a', n: -1 },
    'weight.cel: expected a number of at least 0 (the weight), got -1',
  ],
  [{ weight: cel('payload.n') }, { to: 'a', n: 'x' }, 'weight.cel: expected a number of at least 0'],
  [{ weight: cel('0.0 / 0.0') }, { to: 'a' }, 'weight.cel: expected a number of at least 0 (the weight), got NaN'],
  [{ distinctBy: cel('payload.n') }, { to: 'a', n: {} }, 'distinctBy.cel: expected text or a number'],
  [{ coalesceBy: cel('payload.n') }, { to: 'a', n: {} }, 'coalesceBy.cel: expected text or a number'],
  [{ coalesceBy: 'n' }, { to: 'a' }, 'payload n: expected text or a number (the coalesceBy), got'],
  [{ lane: {}, reads: [cel('payload.n')] }, { to: 'a', n: [{}] }, 'reads.0: expected text or a number (a state key'],
  [{ lane: {}, service: cel('payload.n') }, { to: 'a', n: ['x', 'y'] }, 'service: expected one text, got 2'],
])('a value of another kind is refused: %j', (changes, payload, fault) => {
  expect(faultsIn(make(changes), payload)).toEqual([expect.stringContaining(fault)]);
});

describe('a wrong expression is refused at the start, with its place', () => {
  test.each([
    [{ target: cel('payload.a +') }, /^target\.cel: expected CEL, got at character 12 of "payload\.a \+": /],
    [{ target: cel('payloda.a') }, /^target\.cel: .* Unknown variable: payloda; did you mean "payload"\?/],
    [{ target: cel('id') }, /^target\.cel: .* Unknown variable: id; known here: payload/],
    [
      { target: cel('[payload.a]') },
      /^target\.cel: expected an expression that gives text, .* got one that gives list/,
    ],
    [{ target: cel("'a' + 1") }, /^target\.cel: .* no such overload: string \+ int/],
    [{ target: cel('payload.a.lower()') }, /^target\.cel: .* found no matching overload/],
    [{ target: cel("payload.a.matches('(')") }, /^target\.cel: .*missing closing/],
    [{ target: cel("payload.a.matches('(?=x)')") }, /^target\.cel: .*invalid/],
    [{ target: cel('payload.a.matches(payload.b)') }, /^target\.cel: expected a literal pattern in matches\(\)/],
    [{ target: cel('') }, /^target\.cel: expected an expression in CEL, of at least 1 character, got ""/],
    [{ target: { cel: 'payload.a', constant: 'x' } }, /^target\.cel: unknown setting/],
    [{ target: { cell: 'payload.a' } }, /target\.cell: unknown setting; did you mean "cel"\?/],
    [{ weight: cel("'a'") }, /^weight\.cel: expected an expression that gives a number, got one that gives string/],
    [{ distinctBy: cel('{}') }, /^distinctBy\.cel: expected an expression that gives text/],
    [{ lane: {}, reads: ['a', cel('{"a": 1}')] }, /^reads\.1\.cel: expected an expression that gives a key or a list/],
    [
      { target: cel(`payload.a${" + 'x'".repeat(1_000)}`) },
      /^target\.cel: expected at most 4,096 characters, got 6,009/,
    ],
    [{ target: cel(`payload.a${' + a'.repeat(600)}`) }, /^target\.cel: .*Exceeded maxAstNodes \(500\)/],
    [{ target: cel(`${'('.repeat(60)}payload.a${')'.repeat(60)}`) }, /^target\.cel: .*Exceeded maxDepth \(50\)/],
    [{ target: cel('musterSpend(payload.a)') }, /^target\.cel: .*musterSpend/],
  ])('%j', (changes, problem) => {
    const found = problems(changes);
    expect(found.join('\n')).toMatch(problem);
    expect(found.filter((one) => !one.includes('got nothing'))).toHaveLength(1);
  });

  test('and all problems of a handler at once', () => {
    const found = problems({
      target: cel('a'),
      weight: cel('b'),
      response: { matchBy: 'id', status: { ok: cel('c') } },
    });
    expect(found.map((one) => one.split(':')[0])).toEqual(['response.status.ok.cel', 'target.cel', 'weight.cel']);
  });
});
