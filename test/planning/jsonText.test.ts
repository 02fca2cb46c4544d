import { depthOf, fieldAt, lossyNumber, MAX_JSON_DEPTH, MOST_VALUES, scan } from '../../workflows/planning/jsonText';

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

test('depth: brackets in texts are none, and it is exact at the limit', () => {
  expect(depthOf(nested(MAX_JSON_DEPTH))).toBe(MAX_JSON_DEPTH);
  expect(depthOf(nested(MAX_JSON_DEPTH + 1))).toBe(MAX_JSON_DEPTH + 1);
  expect(depthOf(nested(50_000))).toBe(MAX_JSON_DEPTH + 1);
  expect(depthOf(JSON.stringify(['['.repeat(500), '\\"['.repeat(200)]))).toBe(1);
});

test('depth: what cannot be deeper than the limit is not looked at', () => {
  expect([depthOf('[]'), depthOf('['.repeat(MAX_JSON_DEPTH))]).toEqual([0, 0]);
  expect(depthOf('['.repeat(MAX_JSON_DEPTH + 1))).toBe(MAX_JSON_DEPTH + 1);
});

test.each([
  ['"[[[["', 0],
  ['[[],[],[]]', 2],
  ['["a",["b"],[["c"]]]', 3],
  ['["\\"[[",["["],"[["]', 2],
  ['["\\\\",[["\\\\\\"["]]]', 3],
])('depth: of %s it is %d', (text, depth) => expect(depthOf(text, 4)).toBe(depth));

test.each<[string, ReturnType<typeof lossyNumber>]>([
  [`[1${'0'.repeat(399)}]`, { path: [0], number: `1${'0'.repeat(39)}` }],
  ['{"id":"a","payload":{"order":9007199254740993}}', { path: ['payload', 'order'], number: '9007199254740993' }],
  ['{"payload":[1,{"a":[2,-9007199254740995]}]}', { path: ['payload', 1, 'a', 1], number: '-9007199254740995' }],
  ['{"a":{"b":1},"c":[[]],"d.e":12345678901234567890}', { path: ['d.e'], number: '12345678901234567890' }],
  ['{"payload":1e400}', { path: ['payload'], number: '1e400' }],
  ['12345678901234567891', { path: [], number: '12345678901234567891' }],
  ['{"a":"9007199254740993","\\"9007199254740993":1}', null],
  ['{"a":9007199254740992,"b":9007199254740994,"c":1e22,"d":-0}', null],
  ['{"a":0.12345678901234567890,"b":1.5e-30}', null],
  ['[]', null],
])('lossy number: %s', (text, expected) => expect(lossyNumber(text)).toEqual(expected));

test.each<[string, string | null]>([
  ['{"job":9007199254740993,"results":[]}', null],
  ['{"job":[9007199254740993],"results":[{"result":{"n":9007199254740993}}]}', 'results[0].result.n'],
  ['{"job":{"results":9007199254740993},"status":"done"}', null],
  ['[9007199254740993]', null],
  ['9007199254740993', null],
])('lossy number, in the members that are read: %s', (text, field) => {
  const found = lossyNumber(text, ['status', 'results']);
  expect(found === null ? null : fieldAt(found.path)).toBe(field);
});

test.each<[Parameters<typeof fieldAt>[0], string]>([
  [['payload', 'orders', 0, 'n'], 'payload.orders[0].n'],
  [[2, 'a'], '[2].a'],
  [[], ''],
])('the name of a field: %j', (path, name) => expect(fieldAt(path)).toBe(name));

const NO_LIMIT = { depth: Infinity, values: Infinity };
const scanned = (text: string, most = NO_LIMIT) => scan(Buffer.from(text), most);

test.each([
  ['0', 0, 1],
  ['[]', 1, 1],
  ['[ ]', 1, 1],
  ['[0]', 1, 2],
  ['[0,1]', 1, 3],
  ['[[],[]]', 2, 3],
  ['{}', 1, 1],
  ['{"a":0}', 1, 3],
  ['{"a":{"b":[]},"c":"x,[{:"}', 3, 7],
  ['"\\",[\\\\"', 0, 1],
  ['["\\\\",["é"]]', 2, 4],
])('%s: its depth, values and names are counted from its bytes', (text, depth, values) => {
  expect(scanned(text)).toEqual({ depth, values });
});

test('counting stops where a limit is passed', () => {
  expect(MOST_VALUES).toBe(1_000_000);
  expect(scanned('[0,1,2,3,4,5,6]', { depth: 9, values: 3 }).values).toBe(4);
  expect(scanned('[[[[[[[[', { depth: 3, values: 99 }).depth).toBe(4);
});
