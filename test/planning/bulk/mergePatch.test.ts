import fc from 'fast-check';
import type { JsonObject } from '../../../workflows/planning/bulk/mergePatch';
import { hasMember, mergePatch } from '../../../workflows/planning/bulk/mergePatch';

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

test('nothing of the patch is shared by what it made', () => {
  const patch = { list: [{ a: [1] }], inner: { list: [2] } };
  const [one, other] = [1, 2].map((n) => mergePatch({ n }, patch) as typeof patch);
  one!.list[0]!.a.push(9);
  one!.inner.list.push(9);
  expect([other, patch]).toEqual([
    { n: 2, ...patch },
    { list: [{ a: [1] }], inner: { list: [2] } },
  ]);
});

test.each<[unknown, boolean]>([
  [{ a: 1 }, false],
  [{ a: ['x', { b: { x: 1 } }] }, true],
  [[[{ x: null }]], true],
  [{ a: { x: 1 }, b: 1 }, true],
  ['x', false],
  [null, false],
])('%j has a member x: %j', (value, expected) => {
  expect(hasMember(value, 'x')).toBe(expected);
});
