import fc from 'fast-check';
import { changedMember, droppedMember } from '../../../workflows/planning/bulk/judge';
import { mergePatch } from '../../../workflows/planning/bulk/mergePatch';

test.each<[object, object, string[] | null]>([
  [{ a: 1 }, { a: 1 }, null],
  [{ a: 1 }, { a: 100 }, null],
  [{ a: 1 }, {}, ['a']],
  [{ a: null }, {}, null],
  [{ a: null }, { a: 'default' }, null],
  [{ a: { b: 1, c: null } }, { a: { b: 2 } }, null],
  [{ a: { b: 1 } }, { a: {} }, ['a', 'b']],
  [{ a: { b: 1 } }, { a: 'text of it' }, null],
  [{ a: [{ b: 1 }] }, { a: [{}] }, ['a', '0', 'b']],
  [{ a: [1, [{ b: { c: 1 } }]] }, { a: [2, [{ b: {} }]] }, ['a', '1', '0', 'b', 'c']],
  [{ a: [{ b: null }] }, { a: [{}] }, ['a', '0', 'b']],
  [{ a: [{ b: 1 }] }, { a: [{ b: 2, more: 1 }] }, null],
  [{ a: [{ b: 1 }] }, { a: [{ b: 1 }, {}] }, null],
  [{ a: [{ b: 1 }] }, { a: 'text of it' }, null],
  [{ a: 'text' }, { a: { of: 'it' } }, null],
  [{ a: [{ b: 1 }] }, { a: [{}, {}] }, null],
  [{ a: [1] }, { a: null }, null],
  [JSON.parse('{"toString": 1}') as object, {}, ['toString']],
])('of the patch %j the result %j lacks %j', (patch, after, expected) => {
  expect(droppedMember(patch, after)).toEqual(expected);
});

test.each<[object, object, object, string[] | null]>([
  [{ a: 1, b: 2 }, { a: 1, b: 3 }, { b: 3 }, null],
  [{ a: 1, b: 2 }, { a: 1, b: 300 }, { b: 3 }, null],
  [{ a: 1, b: 2 }, { a: 100, b: 3 }, { b: 3 }, ['a']],
  [{ a: 1 }, { b: 3 }, { b: 3 }, ['a']],
  [{ a: 1 }, { a: 1, byDefault: 5, b: 3 }, { b: 3 }, null],
  [{ a: { b: 1, c: 2 } }, { a: { b: 5, c: 2, more: 1 } }, { a: { b: 5 } }, null],
  [{ a: { b: 1, c: 2 } }, { a: { b: 5, c: 3 } }, { a: { b: 5 } }, ['a', 'c']],
  [{ a: { b: 1 } }, { a: 'text' }, { a: { b: 5 } }, ['a']],
  [{ a: { b: 1 } }, {}, { a: null }, null],
  [{ a: { b: 1 } }, { a: [1] }, { a: [1] }, null],
  [{ a: [1, { b: 2 }], c: 1 }, { a: [1, { b: 2, more: 1 }], c: 2 }, { c: 2 }, null],
  [{ a: [1, { b: 2 }], c: 1 }, { a: [1, { b: 3 }], c: 2 }, { c: 2 }, ['a', '1', 'b']],
  [{ a: [1, 2], c: 1 }, { a: [1], c: 2 }, { c: 2 }, ['a']],
  [{ a: [] }, { a: {}, c: 2 }, { c: 2 }, ['a']],
  [{ a: [1] }, { c: 2 }, { c: 2 }, ['a']],
  [{ a: ['x'] }, { a: 'x' }, {}, ['a']],
  [{ a: null }, { a: null, c: 2 }, { c: 2 }, null],
  [JSON.parse('{"toString": 1}') as object, { c: 2 }, { c: 2 }, ['toString']],
])('of %j, that became %j by %j, %j is changed', (before, after, patch, expected) => {
  expect(changedMember(before, after, patch)).toEqual(expected);
});

const object = fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 4 }));

test('a result that no schema changed has all of the patch, and all else as it was', () => {
  fc.assert(
    fc.property(object, object, (before, patch) => {
      const after: unknown = JSON.parse(JSON.stringify(mergePatch(before, patch)));
      expect(droppedMember(patch, after)).toBeNull();
      expect(changedMember(JSON.parse(JSON.stringify(before)), after, patch)).toBeNull();
    }),
  );
});
