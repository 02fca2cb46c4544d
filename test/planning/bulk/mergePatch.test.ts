import fc from 'fast-check';
import type { JsonObject } from '../../../workflows/planning/bulk/mergePatch';
import { mergePatch } from '../../../workflows/planning/bulk/mergePatch';

/** The test cases of RFC 7396, appendix A. */
test.each<[unknown, unknown, unknown]>([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('%j with %j is %j', (value, patch, expected) => {
  expect(mergePatch(value, patch)).toEqual(expected);
});

const json = fc.jsonValue({ maxDepth: 4 });
const object = fc.dictionary(fc.string({ maxLength: 3 }), json);
const hasNoNull = (value: unknown): boolean => !JSON.stringify(value).includes('null');

test('it changes neither of them, is the same twice, and alone leaves what it does not name', () => {
  fc.assert(
    fc.property(object, object, (value, patch) => {
      const before = JSON.stringify([value, patch]);
      const merged = mergePatch(value, patch) as JsonObject;
      expect(JSON.stringify([value, patch])).toBe(before);
      expect(mergePatch(merged, patch)).toEqual(merged);
      for (const [name, one] of Object.entries(value)) if (!Object.hasOwn(patch, name)) expect(merged[name]).toBe(one);
      for (const [name, one] of Object.entries(patch)) expect(Object.hasOwn(merged, name)).toBe(one !== null);
    }),
  );
  fc.assert(fc.property(object.filter(hasNoNull), (patch) => expect(mergePatch({}, patch)).toEqual(patch)));
});

test('a member __proto__ is one like others', () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__": {"isAdmin": true}}')) as JsonObject;
  expect(JSON.stringify(merged)).toBe('{"__proto__":{"isAdmin":true}}');
  expect(merged['isAdmin']).toBeUndefined();
});
