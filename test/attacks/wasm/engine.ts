import { leb } from '../../../activities/executions/executors/wasm/binary';
import { BODY, code, EXPORTS, FUNCTIONS, MEMORY, moduleOf, section, text, TYPES, vector } from './binary';
import type { Hostile } from './hostile';
import { COMMAND, command, forEver, INTERRUPTED } from './hostile';

/** Modules that want more of the engine than they may have: memory, tables, stack, time. */

const MIB = 1_048_576;
const PAGE = 65_536;
const NOT_COMPILED = /cannot be (compiled|run)/;
const STACK = /broke off: Maximum call stack size exceeded/;
const REFUSED = /this node (allows|does not support)/;

const GROW_ALL = `(loop $on (br_if $on (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))`;
const TOUCH_ALL = `(memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const ${PAGE})))`;
const memories: Hostile[] = [
  {
    name: 'grows its memory until it may not',
    module: command(`${GROW_ALL} ${TOUCH_ALL} (call $proc_exit (memory.size))`),
    memoryBytes: 32 * MIB,
    ends: 512,
  },
  {
    name: 'asks to grow for ever',
    module: command(forEver('(drop (memory.grow (i32.const 65535)))')),
    ms: 200,
    ends: INTERRUPTED,
  },
  {
    name: 'fills its memory for ever',
    module: command(`${GROW_ALL} ${forEver(TOUCH_ALL)}`),
    memoryBytes: 64 * MIB,
    ms: 300,
    ends: INTERRUPTED,
  },
  {
    name: 'wants 4 GiB from the start',
    module: '(module (memory (export "memory") 65536) (func (export "_start")))',
    ends: REFUSED,
  },
  {
    name: 'has 8 memories of 4 MiB',
    module: moduleOf(TYPES, FUNCTIONS, section(5, vector(Array(8).fill([0x00, 0x40]))), EXPORTS, BODY),
    ends: REFUSED,
  },
  {
    name: 'has shared memory',
    module: moduleOf(TYPES, FUNCTIONS, section(5, vector([[0x03, 0x01, 0x02]])), EXPORTS, BODY),
    ends: REFUSED,
  },
  {
    name: 'has memory of 64 bits',
    module: moduleOf(TYPES, FUNCTIONS, section(5, vector([[0x04, 0x01]])), EXPORTS, BODY),
    ends: REFUSED,
  },
  {
    name: 'has two sections of memories',
    module: moduleOf(TYPES, FUNCTIONS, MEMORY, MEMORY, EXPORTS, BODY),
    ends: NOT_COMPILED,
  },
  {
    name: 'writes data behind its memory',
    module: command('', `(data (i32.const ${PAGE - 1}) "xx")`),
    ends: /cannot be started/,
  },
];

const table = (limits: string, kind: string, body: string): string => command(body, `(table $t ${limits} ${kind})`);
const GROW_TABLE = `(loop $on (br_if $on (i32.ne (table.grow $t (ref.null func) (i32.const 10000)) (i32.const -1))))`;
const tables: Hostile[] = [
  {
    name: 'grows a table until it may not',
    module: table('1', 'funcref', `${GROW_TABLE} (call $proc_exit (i32.le_u (table.size $t) (i32.const 524288)))`),
    ends: 1,
  },
  {
    name: 'grows a table for ever',
    module: table('1', 'funcref', forEver('(drop (table.grow $t (ref.null func) (i32.const 1000)))')),
    ms: 200,
    ends: INTERRUPTED,
  },
  {
    name: 'grows a table of foreign references',
    module: table('1', 'externref', forEver('(drop (table.grow $t (ref.null extern) (i32.const 100000)))')),
    ms: 200,
    ends: INTERRUPTED,
  },
  { name: 'wants a table of 10,000,000 entries', module: table('10000000', 'funcref', ''), ends: REFUSED },
  { name: 'has 20 tables of 100,000 entries', module: command('', '(table 100000 funcref)'.repeat(20)), ends: REFUSED },
  {
    name: 'has a table of a computed value',
    module: moduleOf(
      TYPES,
      FUNCTIONS,
      section(4, vector([[0x40, 0x00, 0x70, 0x00, 0x01, 0x41, 0x00, 0x0b]])),
      MEMORY,
      EXPORTS,
      BODY,
    ),
    ends: REFUSED,
  },
  {
    name: 'calls through an empty table',
    module: table('1', 'funcref', '(call_indirect (i32.const 0))'),
    ends: /broke off/,
  },
];

/** `(type (array (mut i64)))`, and a list of them that holds on to each. */
const GC_TYPES = section(
  1,
  vector([
    [0x60, 0x00, 0x00],
    [0x5e, 0x7e, 0x01],
    [0x5f, 0x02, 0x63, 0x02, 0x00, 0x63, 0x01, 0x00],
  ]),
);
const collected = (length: number): Uint8Array =>
  moduleOf(
    GC_TYPES,
    FUNCTIONS,
    MEMORY,
    section(6, vector([[0x63, 0x02, 0x01, 0xd0, 0x02, 0x0b]])),
    EXPORTS,
    // loop: global = struct.new(global, array.new_default(length)); br
    section(
      10,
      vector([
        code(
          0x03,
          0x40,
          0x23,
          0x00,
          0x41,
          ...leb(length),
          0xfb,
          0x07,
          0x01,
          0xfb,
          0x00,
          0x02,
          0x24,
          0x00,
          0x0c,
          0x00,
          0x0b,
        ),
      ]),
    ),
  );
/** Whatever the engine would make of it: some of those that we run on have such objects. */
const OBJECTS = /defines (an array|a group of types .*), and this node does not support/;
const GROUPED = section(
  1,
  vector([
    [0x60, 0x00, 0x00],
    [0x4e, 0x01, 0x5e, 0x7e, 0x01],
  ]),
);
const objects: Hostile[] = [
  { name: 'makes small objects for ever', module: collected(16), ends: OBJECTS },
  { name: 'makes large objects for ever', module: collected(100_000), ends: OBJECTS },
  {
    name: 'has types of objects in a group',
    module: moduleOf(GROUPED, FUNCTIONS, MEMORY, EXPORTS, BODY),
    ends: OBJECTS,
  },
];

const stack: Hostile[] = [
  { name: 'calls itself for ever', module: command('(call $deep)', '(func $deep (call $deep))'), ends: STACK },
  {
    name: 'two functions call each other for ever',
    module: command('(call $a)', '(func $a (call $b)) (func $b (call $a))'),
    ends: STACK,
  },
  {
    name: 'calls the system at the end of its stack',
    module: command('(call $deep)', '(func $deep (drop (call $random_get (i32.const 0) (i32.const 64))) (call $deep))'),
    ends: STACK,
  },
];

const times: Hostile[] = [
  { name: 'loops for ever', module: command(forEver('')), ms: 200, ends: INTERRUPTED },
  {
    name: 'loops for ever before it is started',
    module: `(module ${COMMAND} (func $s ${forEver('')}) (start $s))`,
    ms: 200,
    ends: INTERRUPTED,
  },
  { name: 'does what cannot be done', module: command('unreachable'), ends: /broke off: unreachable/ },
  { name: 'divides by zero', module: command('(drop (i32.div_s (i32.const 1) (i32.const 0)))'), ends: /broke off/ },
  { name: 'reads behind its memory', module: command('(drop (i32.load (i32.const -1)))'), ends: /broke off/ },
];

const functions = (count: number, body: readonly number[]): Uint8Array =>
  Buffer.concat([
    moduleOf(TYPES, section(3, vector(Array(count).fill([0x00]))), MEMORY, EXPORTS),
    ...lengthened(10, Buffer.concat([Buffer.from(leb(count)), ...Array<Buffer>(count).fill(Buffer.from(body))])),
  ]);
const lengthened = (id: number, body: Uint8Array): Uint8Array[] => [Buffer.from([id, ...leb(body.length)]), body];
/** A function with so many locals of 64 bits. */
const locals = (count: number): number[] => {
  const body = [0x01, ...leb(count), 0x7e, 0x0b];
  return [...leb(body.length), ...body];
};
const nested = (depth: number): Uint8Array => {
  const blocks = Buffer.concat([Buffer.alloc(2 * depth, Buffer.from([0x02, 0x40])), Buffer.alloc(depth, 0x0b)]);
  const body = Buffer.concat([Buffer.from([0x00]), blocks, Buffer.from([0x0b])]);
  const bodies = Buffer.concat([Buffer.from([0x01, ...leb(body.length)]), body]);
  return Buffer.concat([moduleOf(TYPES, FUNCTIONS, MEMORY, EXPORTS), ...lengthened(10, bodies)]);
};
const compiled: Hostile[] = [
  { name: 'has 200,000 functions', module: functions(200_000, code()), ms: 30_000, ends: 0 },
  { name: 'has 2,000 functions of 50,000 locals', module: functions(2_000, locals(50_000)), ms: 30_000, ends: 0 },
  { name: 'has a function of 4,000,000,000 locals', module: functions(1, locals(4_000_000_000)), ends: NOT_COMPILED },
  {
    name: 'has 100,000 blocks within each other',
    module: nested(100_000),
    ms: 30_000,
    ends: ({ exitCode, nodeError }) => exitCode === 0 || nodeError !== undefined,
  },
  {
    name: 'has 8 MiB of data',
    module: moduleOf(
      TYPES,
      FUNCTIONS,
      section(5, vector([[0x00, 0x01]])),
      EXPORTS,
      BODY,
      section(11, [0x01, 0x01, ...leb(8 * MIB), ...Array<number>(8 * MIB).fill(7)]),
    ),
    ms: 30_000,
    ends: 0,
  },
  {
    name: 'has names of 90,000 bytes',
    module: moduleOf(
      TYPES,
      section(2, vector([[...text('x'.repeat(90_000)), ...text('y'.repeat(90_000)), 0x00, 0x00]])),
      FUNCTIONS,
      MEMORY,
      EXPORTS,
      BODY,
    ),
    ends: ({ nodeError }) => nodeError !== undefined && nodeError.length < 5_000,
  },
];

export const engineAttacks: readonly Hostile[] = [...memories, ...tables, ...objects, ...stack, ...times, ...compiled];
