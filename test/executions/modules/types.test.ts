import { leb } from '../../../activities/executions/executors/wasm/binary';
import { limitModule } from '../../../activities/executions/executors/wasm/limitModule';
import { BODY, EXPORTS, FUNCTIONS, MEMORY, moduleOf, section, TYPES, vector } from '../../attacks/wasm/binary';

/** Types of which a module makes objects are refused by their bytes, on every Node alike. */

const types = (...all: readonly (readonly number[])[]): number[] => section(1, vector(all));
const limited = (...sections: readonly (readonly number[])[]): (() => Uint8Array) => {
  const module = moduleOf(...sections, FUNCTIONS, MEMORY, EXPORTS, BODY);
  return () => limitModule(module, 65_536);
};
const FUNC = [0x60, 0x00, 0x00];
const STRUCT = [0x5f, 0x01, 0x7f, 0x01];
const ARRAY = [0x5e, 0x7e, 0x01];
const refused = (what: RegExp): RegExp =>
  new RegExp(`^the module defines ${what.source}, and this node does not support types other than of functions$`);

test.each([
  ['an array', types(FUNC, ARRAY), /an array/],
  ['a struct', types(FUNC, STRUCT), /a struct/],
  ['one before all', types(STRUCT, FUNC), /a struct/],
  ['one in a group', types([0x4e, 0x02, ...FUNC, ...STRUCT]), /a group of types that refer to each other/],
  ['a group of functions', types([0x4e, 0x01, ...FUNC]), /a group of types that refer to each other/],
  ['a subtype', types(FUNC, [0x50, 0x00, ...ARRAY]), /a subtype/],
  ['a final subtype of a function', types([0x4f, 0x00, ...FUNC]), /a final subtype/],
  ['of another proposal', types(FUNC, [0x5d, 0x00]), /a type of the form 0x5d/],
  [
    'after a function with references',
    types([0x60, 0x02, 0x63, 0x00, 0x64, 0x70, 0x01, 0x63, 0x00], ARRAY),
    /an array/,
  ],
  ['after a long number', types([0x60, ...[0x83, 0x80, 0x00], 0x7f, 0x7e, 0x7d, 0x00], ARRAY), /an array/],
])('%s', (_, section, what) => expect(limited(section)).toThrow(refused(what)));

test('in a second section, which a compiler may take or not', () => {
  expect(limited(TYPES, types(ARRAY))).toThrow(refused(/an array/));
});

test('variables are read to the end of their function, not of all: each function would read all that follow', () => {
  const begins = [0x01, 50]; // 50 groups of variables, of which the function has none
  const last = [0x00, ...Array<number>(200).fill(0)];
  const code = section(10, vector([...Array<number[]>(10).fill(begins), [...leb(last.length), ...last]]));
  const module = moduleOf(TYPES, FUNCTIONS, MEMORY, EXPORTS, code);
  expect(() => limitModule(module, 65_536)).toThrow('the module is truncated');
});

const NO_EXCEPTIONS = 'the module keeps references to exceptions, which this node does not support';
const variable = (...type: readonly number[]): number[] => {
  const body = [0x02, 0x01, 0x7f, 0x01, ...type, 0x0b];
  return section(10, vector([[...leb(body.length), ...body]]));
};
const global = (...type: readonly number[]): number[] =>
  section(
    6,
    vector([
      [0x7e, 0x01, 0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, 0x0b],
      [...type, 0x01, 0xd0, 0x69, 0x0b],
    ]),
  );
test.each([
  ['a parameter', types(FUNC, [0x60, 0x02, 0x7f, 0x69, 0x00])],
  ['a result, by its long form', types(FUNC, [0x60, 0x00, 0x01, 0x63, 0x69])],
  ['that is never null', types(FUNC, [0x60, 0x01, 0x64, 0x69, 0x00])],
  ['by more bytes than it needs', types(FUNC, [0x60, 0x01, 0x63, 0xe9, 0x7f, 0x00])],
  ['that is always null', types(FUNC, [0x60, 0x01, 0x74, 0x00])],
  ['a table', section(4, vector([[0x69, 0x00, 0x01]]))],
  ['a table with a value', section(4, vector([[0x40, 0x00, 0x63, 0x69, 0x00, 0x01, 0xd0, 0x69, 0x0b]]))],
  ['a global behind another one', global(0x69)],
  ['a variable behind another one', variable(0x63, 0x69)],
])('references to exceptions: %s', (_, section) => expect(limited(section)).toThrow(NO_EXCEPTIONS));

test('globals with any constant are taken, and what cannot be read over is refused', () => {
  const constants = [
    [0x7f, 0x00, 0x41, 0x7f, 0x0b],
    [0x7e, 0x01, 0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x0b],
    [0x7d, 0x00, 0x43, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b],
    [0x7c, 0x00, 0x44, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b],
    [0x7b, 0x00, 0xfd, 0x0c, ...Array.from({ length: 16 }, () => 0x0b), 0x0b],
    [0x6f, 0x00, 0xd0, 0x6f, 0x0b],
    [0x70, 0x00, 0xd2, 0x0b, 0x0b],
    [0x7f, 0x00, 0x23, 0x00, 0x41, 0x01, 0x6a, 0x41, 0x02, 0x6b, 0x41, 0x03, 0x6c, 0x0b],
  ];
  expect(limited(TYPES, section(6, vector(constants)))).not.toThrow();
  const object = section(6, vector([...constants, [0x63, 0x00, 0x00, 0xfb, 0x00, 0x00, 0x0b]]));
  expect(limited(TYPES, object)).toThrow('computes the value of a global');
});

test('functions of all kinds of values are taken, and the rest of the module is limited as ever', () => {
  const all = types(FUNC, [0x60, 0x04, 0x7f, 0x7e, 0x7b, 0x6f, 0x01, 0x70], [0x60, 0x01, 0x63, 0x00, 0x01, 0x64, 0x70]);
  const module = limited(all)();
  expect(Buffer.from(module)).toEqual(
    Buffer.from(moduleOf(all, FUNCTIONS, section(5, vector([[1, ...leb(1), ...leb(1)]])), EXPORTS, BODY)),
  );
});

test('a list that ends before its types do is refused, however long it says to be', () => {
  expect(limited(section(1, [0xff, 0xff, 0xff, 0xff, 0x0f]))).toThrow(/truncated/);
  expect(limited(section(1, [0x01, 0x60, 0xff, 0xff, 0xff, 0xff, 0x0f]))).toThrow(/truncated/);
});

test('each function is read from its own beginning: what one keeps is found behind others', () => {
  const keeping = (type: number): number[] => [0x04, 0x01, 0x01, type, 0x0b];
  const code = (...bodies: readonly (readonly number[])[]): number[] => section(10, vector(bodies));
  const plain = [keeping(0x7f), [0x02, 0x00, 0x0b], keeping(0x7e)];
  expect(limited(TYPES, code(...plain))).not.toThrow();
  expect(limited(TYPES, code(...plain, keeping(0x69)))).toThrow(NO_EXCEPTIONS);
});

describe('tables', () => {
  /** As many entries as the memory has room for. */
  const MOST = 65_536 / 32;
  const tables = (...all: readonly (readonly number[])[]): number[] => section(4, vector(all));

  test('may grow evenly, as far as the memory allows; their types and their first values stay', () => {
    const each = Math.floor((MOST - 4) / 3);
    const wanted = tables([0x70, 0x00, 1], [0x6f, 0x01, 2, 3], [0x40, 0x00, 0x70, 0x00, 1, 0xd0, 0x70, 0x0b]);
    const module = limited(TYPES, wanted)();
    const given = tables(
      [0x70, 0x01, 1, ...leb(1 + each)],
      [0x6f, 0x01, 2, 3],
      [0x40, 0x00, 0x70, 0x01, 1, ...leb(1 + each), 0xd0, 0x70, 0x0b],
    );
    const memory = section(5, vector([[1, ...leb(1), ...leb(1)]]));
    expect(Buffer.from(module)).toEqual(Buffer.from(moduleOf(TYPES, given, FUNCTIONS, memory, EXPORTS, BODY)));
  });

  test('that want more from the start are refused', () => {
    const wanting = (...mins: readonly number[]): (() => Uint8Array) =>
      limited(TYPES, tables(...mins.map((min) => [0x70, 0x00, ...leb(min)])));
    expect(wanting(MOST - 1, 1)).not.toThrow();
    expect(wanting(MOST, 1)).toThrow(`the module needs tables of ${MOST + 1} entries, and this node allows ${MOST}`);
  });
});
