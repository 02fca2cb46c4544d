import fc from 'fast-check';
import { Findings } from '../../handlers/configError';
import { isBad, parsePath, readPath } from '../../handlers/http/path';
import { compileTemplate, MissingValue } from '../../handlers/http/template';
import { compileUrl } from '../../handlers/http/urlTemplate';

const ROOTS = ['id', 'payload', 'target'];
const render = (template: unknown, scope: Record<string, unknown>): unknown => {
  const findings = new Findings();
  const compiled = compileTemplate(template, ROOTS, 'item', findings);
  expect(findings.problems).toEqual([]);
  return compiled.render(scope);
};
/** As it arrives on the other side. */
const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

describe('templates', () => {
  const scope = {
    id: 't0',
    target: 'A',
    payload: { n: 1, flag: false, none: null, deep: { list: ['x', 'y'] }, 'a.b': 'dotted' },
  };

  test.each([
    ['{{id}}', 't0'],
    ['{{ id }}', 't0'],
    ['{{payload.n}}', 1],
    ['{{payload.flag}}', false],
    ['{{payload.none}}', null],
    ['{{payload.deep.list}}', ['x', 'y']],
    ['{{payload.deep.list.1}}', 'y'],
    ['{{payload/a.b}}', 'dotted'],
    ['{{payload}}', scope.payload],
    ['n={{payload.n}}, {{payload.flag}}, {{payload.none}}, {{payload.deep}}', 'n=1, false, null, {"list":["x","y"]}'],
    ['{{id}}{{target}}', 't0A'],
    ['{{{id}}}', '{t0}'],
    ['plain }} text', 'plain }} text'],
    [{ a: ['{{id}}', 2, null, { b: '{{target}}' }] }, { a: ['t0', 2, null, { b: 'A' }] }],
    [{ gone: '{{payload.gone?}}', kept: 1 }, { kept: 1 }],
    [['{{payload.gone?}}'], [null]],
    ['[{{payload.gone?}}]', '[]'],
  ])('%j gives %j', (template, expected) => {
    expect(wire(render(template, scope))).toEqual(expected);
  });

  test('a value that is not there, and may not be, is an error that names it', () => {
    expect(() => render({ a: '{{payload.gone}}' }, scope)).toThrow(MissingValue);
    expect(() => render({ a: '{{payload.gone}}' }, scope)).toThrow('{{payload.gone?}} if it may be missing');
    expect(() => render('{{payload.constructor}}', scope)).toThrow(MissingValue);
    expect(() => render('{{payload.__proto__}}', scope)).toThrow(MissingValue);
  });
});

describe('properties of templates', () => {
  /** JSON without anything to substitute. */
  const plain = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('{{'));

  test('JSON without {{...}} stays what it is', () => {
    fc.assert(fc.property(plain, (template) => expect(wire(render(template, {}))).toEqual(wire(template))));
  });

  test('a whole value keeps its type and is never looked at again, whatever it contains', () => {
    const hostile = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('{{id}}', '{{payload.secret}}', { a: '{{id}}' }, '{{', '}}'),
    );
    fc.assert(
      fc.property(hostile, (payload) => {
        expect(wire(render({ inner: ['{{payload}}'] }, { payload, id: 'NO' }))).toEqual({ inner: [wire(payload)] });
      }),
    );
  });

  test('inside a longer text a text is put in as it is', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string({ minLength: 1 }).filter((s) => !/[{}]/.test(s)),
        (value, around) => {
          expect(render(`${around}{{payload.a}}${around}`, { payload: { a: value } })).toBe(around + value + around);
        },
      ),
    );
  });

  test('what is rendered is one line of NDJSON, whatever the payload', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (payload) =>
        expect(JSON.stringify(render({ doc: '{{payload}}' }, { payload }))).not.toMatch(/[\n\r]/),
      ),
    );
  });
});

describe('paths', () => {
  test('every key is reached by its pointer, and by dots where it can be written so', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), fc.jsonValue(), (keys, leaf) => {
        const value = keys.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), leaf);
        const pointer = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
        const path = parsePath(pointer);
        if (isBad(path)) throw new Error(path.bad);
        expect(readPath(value, path)).toEqual(leaf);
        const dotted = parsePath(keys.join('.'));
        if (keys.every((key) => /^[\w-]+$/.test(key)) && !isBad(dotted)) expect(readPath(value, dotted)).toEqual(leaf);
      }),
    );
  });

  test('no text is a path to something inherited', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('__proto__', 'constructor', 'toString', 'length', 'constructor.name', '*.length'),
        fc.jsonValue(),
        (text, value) => {
          const path = parsePath(text, true);
          if (isBad(path)) throw new Error(path.bad);
          const found = readPath(value, path);
          // Only what JSON itself holds.
          expect(found === undefined || JSON.stringify(value).includes(JSON.stringify(found))).toBe(true);
          expect(typeof found).not.toBe('function');
        },
      ),
    );
  });

  test.each([
    ['*.status', { index: { status: 1 } }, 1],
    ['*.status', { a: { status: 1 }, b: {} }, undefined],
    ['items.0', { items: ['x'] }, 'x'],
    ['items.01', { items: ['x', 'y'] }, undefined],
    ['items.length', { items: ['x'] }, undefined],
    ['a.b', { a: 'text' }, undefined],
    ['', 5, 5],
  ])('%s of %j is %j', (text, value, expected) => {
    const path = parsePath(text, true);
    expect(isBad(path) ? path.bad : readPath(value, path)).toEqual(expected);
  });

  test.each(['a..b', '.a', 'a.', 'a[0]', 'a b', '{{a}}', '/a~2', '*'])('%j is no path', (text) => {
    expect(parsePath(text)).toHaveProperty('bad');
  });
});

describe('URLs', () => {
  test('a value never leaves its place: origin, segments and parameters stay those of the template', () => {
    const findings = new Findings();
    const url = compileUrl('https://api.example.com/v1/{{target}}/items?of={{target}}', ['target'], 'url', findings);
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('..', '.', '%2e%2e', '../..', '//evil.com', '?a=b', '#', '\\..\\', '\ud800', 'ü', ' '),
    );
    fc.assert(
      fc.property(
        text.filter((value) => value !== ''),
        (target) => {
          if (target === '.' || target === '..') {
            expect(() => url.render({ target })).toThrow('expected values that stay in their place');
            return;
          }
          const parsed = new URL(url.render({ target }));
          const sent = Buffer.from(target).toString();
          expect(parsed.origin).toBe('https://api.example.com');
          expect(parsed.pathname.split('/').map(decodeURIComponent)).toEqual(['', 'v1', sent, 'items']);
          expect([...parsed.searchParams]).toEqual([['of', sent]]);
          expect(parsed.hash).toBe('');
        },
      ),
    );
    expect(findings.problems).toEqual([]);
  });
});
