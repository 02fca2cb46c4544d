import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { httpHandler } from '../../../../handlers';
import { cpuMs } from '../../../helpers/machine/cpuMs';
import { ROOT } from '../../../project/project';
import { faultsIn } from '../../build';
import { httpConfig } from '../httpConfig';

/** What payloads from outside can make an expression cost. */

const url = 'https://api.example.com';
const make = (text: string) =>
  httpHandler(httpConfig(url, { target: { cel: text }, request: { url: `${url}/batch`, item: '{{id}}' } }));

const N = 60_000;
const numbers = Array.from({ length: N }, (_, n) => n);
const long = 'a'.repeat(250_000);
/** Each is judged in well under a tenth of it; without a meter each takes from seconds to days. */
const CPU_MS_MAX = 600;

describe('hostile payloads', () => {
  const over = /expected at most 250,000 values to read, and 1,000 turns of loops with an error, got more/;
  test.each([
    ['two loops', 'payload.a.all(x, !payload.b.exists(y, x == y))', { a: numbers, b: numbers.map((n) => n + 0.5) }],
    ['three loops', 'payload.a.all(x, payload.a.all(y, payload.a.all(z, x + y + z >= 0.0)))', { a: numbers }],
    ['all in exists', 'payload.a.exists(x, payload.a.all(y, payload.a.exists(z, z == x + y + 0.5)))', { a: numbers }],
    ['exists_one', 'payload.a.exists_one(x, payload.a.exists_one(y, x == y))', { a: numbers }],
    ['filter', 'payload.a.filter(x, payload.a.filter(y, y > x).size() == 0).size() == 1', { a: numbers }],
    ['map', 'payload.a.map(x, payload.a.map(y, x * y)).size() == 1', { a: numbers }],
    ['map with a filter', 'payload.a.map(x, x >= 0.0, payload.a.map(y, true, x * y)).size() == 1', { a: numbers }],
    ['in within a loop', 'payload.a.all(x, !(x in payload.b))', { a: numbers, b: numbers.map((n) => n + 0.5) }],
    [
      'deep equality within a loop',
      'payload.a.all(x, payload.b == payload.c)',
      {
        a: numbers,
        b: [numbers],
        c: [[...numbers]],
      },
    ],
    ['lists that grow', 'payload.a.map(x, payload.a + payload.a).size() == 1', { a: numbers }],
    ['texts that grow', 'payload.a.map(x, payload.t + payload.t + string(x)).size() == 1', { a: numbers, t: long }],
    ['a text read per turn', "payload.a.all(x, payload.t.matches('^a*$'))", { a: numbers, t: long }],
    ['errors in a loop', 'payload.a.all(x, payload.a.all(y, payload.none == 1))', { a: numbers }],
    ['errors in exists', 'payload.a.exists(x, payload.a.exists(y, payload.none == 1))', { a: numbers }],
    ['bound values', 'cel.bind(b, payload.a, b.all(x, b.all(y, x >= 0.0 && y >= 0.0)))', { a: numbers }],
    [
      'keys of objects',
      'payload.o.all(k, payload.o.all(l, k != "" && l != ""))',
      {
        o: Object.fromEntries(numbers.map((n) => [`k${n}`, n])),
      },
    ],
  ])('%s: refused, in bounded time', (_, text, payload) => {
    const handler = make(`${text} ? 'yes' : 'no'`);
    let faults: string[] = [];
    expect(cpuMs(() => (faults = faultsIn(handler, payload)))).toBeLessThan(CPU_MS_MAX);
    expect(faults).toEqual([expect.stringMatching(over)]);
  });

  test.each([
    ['a search for a long text', 'payload.t.contains(payload.s)', { t: long, s: `b${'a'.repeat(120_000)}` }],
    ['a last index', 'payload.t.lastIndexOf(payload.s) > 0', { t: long, s: `${'a'.repeat(120_000)}b` }],
    ['a separator', 'payload.t.split(payload.s).size() > 0', { t: long, s: `b${'a'.repeat(120_000)}` }],
  ])('%s: refused', (_, text, payload) => {
    const handler = make(`${text} ? 'yes' : 'no'`);
    expect(faultsIn(handler, payload)).toEqual([
      expect.stringMatching(/expected at most 256 characters to look for in a text, got 12000\d/),
    ]);
    expect(faultsIn(handler, { ...payload, s: 'ab' })).toEqual([]);
  });

  test.each([
    ['a pattern that backtracks', "payload.t.matches('^(a+)+$')", { t: `${'a'.repeat(100_000)}!` }],
    ['a text of no words', "payload.t.split('').size() > 0", { t: long }],
    ['a long number', 'int(payload.t) > 0', { t: '9'.repeat(200_000) }],
    ['a long time', "timestamp(payload.t) > timestamp('2026-01-01T00:00:00Z')", { t: '2'.repeat(200_000) }],
    ['a long duration', "duration(payload.t) > duration('1s')", { t: `${'1'.repeat(200_000)}s` }],
    ['a duration of many parts', "duration(payload.t) > duration('1s')", { t: '1s'.repeat(100_000) }],
    ['depth', 'payload.d == payload.d', { d: JSON.parse(`${'['.repeat(90)}${']'.repeat(90)}`) }],
    ['names of prototypes', 'payload.p.constructor == 1', { p: { constructor: { name: long } } }],
    ['__proto__', 'payload.p == 1', { p: JSON.parse('{"__proto__": {"x": 1}, "toString": 1, "valueOf": 2}') }],
  ])('%s: judged in bounded time', (_, text, payload) => {
    const handler = make(`${text} ? 'yes' : 'no'`);
    expect(cpuMs(() => faultsIn(handler, payload))).toBeLessThan(CPU_MS_MAX);
  });
});

test('any JSON is judged: a key, or a fault', () => {
  const handler = make("has(payload.a) && payload.a.exists(x, x == payload.b || x in payload.c) ? payload.b : 'none'");
  fc.assert(
    fc.property(fc.record({ a: fc.jsonValue(), b: fc.jsonValue(), c: fc.jsonValue() }), (payload) => {
      const faults = faultsIn(handler, payload);
      if (faults.length === 0) expect(typeof handler.target(payload)).toBe('string');
      else expect(faults).toEqual([expect.stringMatching(/^: target/)]);
    }),
  );
});

test.each(['valueOf', 'toString', 'toJSON', '__proto__', 'hasOwnProperty', 'then', 'length'])(
  'a field that is named %s is data, and judged',
  (name) => {
    const handler = make("has(payload.a) ? payload.b : 'none'");
    const payload = JSON.parse(`{"a": [{"${name}": 0}], "b": {"${name}": 0}}`) as object;
    expect(faultsIn(handler, payload)).toEqual([expect.stringMatching(/^: target/)]);
    expect(faultsIn(handler, JSON.parse(`{"${name}": 0, "a": 1, "b": "x"}`) as object)).toEqual([]);
  },
);

test('an object with a field that is named constructor is refused where an expression looks at it', () => {
  const handler = make("has(payload.a) ? payload.b : 'none'");
  expect(faultsIn(handler, { a: 1, b: 'x', constructor: 0 })).toEqual([
    expect.stringMatching(/target: cannot be evaluated/),
  ]);
  expect(faultsIn(handler, { a: 1, b: 'x', c: { constructor: 0 } })).toEqual([]);
});

test('what one evaluation used is not missing from the next', () => {
  const handler = make("payload.a.all(x, x >= 0.0) ? 'yes' : 'no'");
  const some = { a: numbers.slice(0, 20_000) };
  for (let n = 0; n < 40; n++) expect(handler.target(some)).toBe('yes');
});

test('the package is loaded for an expression alone', () => {
  const script = `
    const { httpHandler } = require('./dist/handlers');
    const { Module } = require('node:module');
    const load = Module._load;
    const loaded = [];
    Module._load = (name, ...rest) => (loaded.push(name), load(name, ...rest));
    const config = (target) => ({
      kind: 'http', name: 'h', target, limits: { maxItems: 1 },
      request: { url: 'http://localhost/' }, response: { matchBy: 'id' },
    });
    httpHandler(config('to'));
    const before = loaded.some((name) => name.includes('cel-js'));
    httpHandler(config({ cel: 'payload.to' }));
    console.log(JSON.stringify([before, loaded.some((name) => name.includes('cel-js'))]));`;
  const said = execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual([false, true]);
});

test('without the package a configuration with an expression is refused, with its name', () => {
  const script = `
    const { Module } = require('node:module');
    const resolve = Module._resolveFilename;
    Module._resolveFilename = (name, ...rest) => {
      if (name === '@marcbachmann/cel-js')
        throw Object.assign(new Error("Cannot find module '@marcbachmann/cel-js'"), { code: 'MODULE_NOT_FOUND' });
      return resolve(name, ...rest);
    };
    const { httpHandler } = require('./dist/handlers');
    try {
      httpHandler({
        kind: 'http', name: 'h', target: { cel: 'payload.to' }, limits: { maxItems: 1 },
        request: { url: 'http://localhost/' }, response: { matchBy: 'id' },
      });
    } catch (error) { console.log(error.message); }`;
  const said = execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  expect(said).toContain('handler "h": 1 problem');
  expect(said).toContain('target.cel: expected the package @marcbachmann/cel-js beside temporal-muster, found none.');
  expect(said).toContain('Run "npm install @marcbachmann/cel-js"');
});
