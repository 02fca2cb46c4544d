import { execFileSync } from 'node:child_process';
import { httpHandler } from '../../../handlers';
import { cpuMs } from '../../helpers/machine/cpuMs';
import { ROOT } from '../../project/project';
import { faultsIn, problemsIn } from '../build';
import { httpConfig } from './httpConfig';

const config = (schema: unknown) =>
  httpConfig('https://api.example.com', {
    target: { constant: 'all' },
    schema,
    request: { url: 'https://api.example.com/batch', item: '{{payload}}' },
  });
const make = (schema: object) => httpHandler(config(schema));
const problems = (schema: unknown) => problemsIn(() => make(schema as object));

describe('what passed silently before is checked', () => {
  test.each([
    ['required without properties', { required: ['a'] }, {}, "a: must have required property 'a', got nothing"],
    ['allOf of required', { allOf: [{ required: ['b'] }] }, {}, "b: must have required property 'b', got nothing"],
    ['minimum without type', { properties: { n: { minimum: 1 } } }, { n: 0 }, 'n: must be >= 1, got 0'],
    ['if and then', { if: { required: ['a'] }, then: { required: ['b'] } }, { a: 1 }, 'b: must have required property'],
    ['not', { properties: { a: { not: { const: 1 } } } }, { a: 1 }, 'a: must NOT be valid, got 1'],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, { a: 1 }, 'b: must have property b when property a'],
    ['items', { properties: { l: { items: { type: 'string' } } } }, { l: ['x', 7] }, 'l.1: must be string, got 7'],
    ['format', { properties: { m: { format: 'email' } } }, { m: 'x' }, 'm: must match format "email", got "x"'],
    [
      'enum',
      { properties: { e: { enum: ['a', 1] } } },
      { e: 2 },
      'e: must be equal to one of the allowed values: "a", 1',
    ],
    [
      'others',
      { properties: { a: {} }, additionalProperties: false },
      { z: 1 },
      'z: must NOT have additional properties',
    ],
    ['keys', { propertyNames: { maxLength: 1 } }, { 'a/b': 1 }, 'a/b: must NOT have more than 1 characters'],
    ['own members only', { required: ['toString'] }, {}, "toString: must have required property 'toString'"],
  ])('%s', (_, schema, payload, fault) => {
    expect(faultsIn(make(schema), payload)[0]).toContain(fault);
  });

  test('and defaults are filled in, in a copy', () => {
    const { schema } = make({ properties: { n: { type: 'integer', default: 3 } } });
    const payload = {};
    expect(schema['~standard'].validate(payload)).toEqual({ value: { n: 3 } });
    expect(payload).toEqual({});
  });
});

describe('a schema that cannot be kept to is refused, with the place', () => {
  test.each([
    [
      { properties: { a: { typo: 1 } } },
      /^schema\.properties\.a\.typo: expected a keyword .* got "typo"; did you mean "type"/,
    ],
    [
      { anyOf: [{ $ref: 'https://example.com/x.json' }] },
      /^schema\.anyOf\.0\.\$ref: expected a reference within .*nothing is fetched/,
    ],
    [{ properties: { a: { $ref: '#/$defs/gone' } } }, /^schema\.properties\.a\.\$ref: expected a reference within/],
    [{ properties: { a: { type: 'text' } } }, /^schema\.properties\.a\.type: expected a JSON Schema that can be read/],
    [{ items: { pattern: '(?=a)b' } }, /^schema\.items\.pattern: expected a regular expression that RE2 can match/],
    [{ patternProperties: { '(a)\\1': {} } }, /^schema\.patternProperties: expected a regular expression that RE2/],
    [
      { $schema: 'http://json-schema.org/draft-07/schema#' },
      /^schema\.\$schema: expected https:\S+2020-12\S+ or nothing/,
    ],
    [{ format: 'bogus' }, /^schema: expected a JSON Schema .* unknown format "bogus" .* at path "#"/],
    [{ if: { type: 'string' } }, /^schema: expected a JSON Schema .* "if" without "then" and "else" is ignored/],
  ])('%j', (schema, problem) => {
    expect(problems(schema)).toEqual([expect.stringMatching(problem)]);
  });
});

describe('what comes from outside cannot keep it busy', () => {
  const LONG = 262_144;
  const FORMATS = [
    ...[
      'email',
      'uri',
      'uri-reference',
      'uri-template',
      'hostname',
      'ipv4',
      'ipv6',
      'uuid',
      'date-time',
      'date',
      'time',
    ],
    ...['duration', 'json-pointer', 'relative-json-pointer', 'regex'],
  ];
  const HOSTILE = ['a', '.', 'a.', 'a@', ':', '0:', '/', '%', '{a', '-', '~', 'a-', ' ', '+a'];
  /** A backtracking engine takes years; the bound is wide enough for a loaded machine. */
  const MOST_MS = 5_000;
  test.each(['^(a+)+$', '^(a|a)*$', '(.*a){20}', '(x+x+)+y'])('a text for the pattern %s', (pattern) => {
    const handler = make({ properties: { t: { pattern } } });
    for (const text of ['a'.repeat(50_000) + '!', 'x'.repeat(50_000)])
      expect(cpuMs(() => void faultsIn(handler, { t: text }))).toBeLessThan(MOST_MS);
  });

  test.each(FORMATS)('a text for the format %s', (format) => {
    const handler = make({ properties: { t: { format } } });
    for (const unit of HOSTILE) {
      const text = `${unit.repeat(LONG / unit.length)}\n`;
      expect([unit, cpuMs(() => void faultsIn(handler, { t: text })) < MOST_MS]).toEqual([unit, true]);
    }
  });

  test('many items that must differ', () => {
    const handler = make({ properties: { l: { uniqueItems: true } } });
    const items = Array.from({ length: 80_000 }, (_, i) => ({ b: 1, a: i }));
    expect(cpuMs(() => expect(faultsIn(handler, { l: items })).toEqual([]))).toBeLessThan(MOST_MS);
    expect(faultsIn(handler, { l: [...items, { a: 7, b: 1 }] })).toEqual([
      expect.stringContaining('l: must NOT have duplicate items'),
    ]);
  });
});

test('nothing of it is loaded before a handler has a schema', () => {
  const script = `
    const { httpHandler } = require('./dist/client');
    const files = () => Object.keys(require.cache);
    const loaded = () => files().filter((file) => /node_modules.(ajv|ajv-formats|re2js)\\b/.test(file)).length;
    const config = ${JSON.stringify(config(undefined))};
    httpHandler(config);
    const before = loaded();
    httpHandler({ ...config, schema: { pattern: 'a' } });
    console.log(JSON.stringify([before, loaded() > 3]));`;
  const said = execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual([0, true]);
});
