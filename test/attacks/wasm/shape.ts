import { leb } from '../../../activities/executions/executors/wasm/binary';
import { BODY, code, EXPORTS, FUNCTIONS, MEMORY, moduleOf, section, text, TYPES, vector } from './binary';
import type { Hostile } from './hostile';
import { COMMAND, command, forEver, INTERRUPTED, SYSTEM } from './hostile';

/** Modules of a shape that no command has: what they import, export and are made of. */

const SNAPSHOT = 'wasi_snapshot_preview1';
const REFUSED = /it imports .*, and this node offers the functions of wasi_snapshot_preview1 only/;
const KINDS = /imports (its memory|something other than functions)/;

const imports: Hostile[] = [
  ...[
    ['env', 'abort'],
    ['globalThis', 'process'],
    ['process', 'exit'],
    ['node:fs', 'readFileSync'],
    ['', ''],
    ['__proto__', 'constructor'],
    ['wasi_unstable', 'fd_write'],
    ['wasm:js-string', 'length'],
    [SNAPSHOT, 'fd_magic'],
    [SNAPSHOT, '__proto__'],
    [SNAPSHOT, 'constructor'],
    [SNAPSHOT, 'toString'],
    [SNAPSHOT, '__defineGetter__'],
    [SNAPSHOT, 'memory'],
  ].map(([from, name]) => ({
    name: `imports ${from}.${name}`,
    module: `(module (import "${from}" "${name}" (func)) ${COMMAND})`,
    ends: REFUSED,
  })),
  ...[
    ['a memory', '(import "env" "memory" (memory 1))'],
    ['a table', '(import "env" "table" (table 1 funcref))'],
    ['a global', '(import "env" "global" (global i32))'],
    ['a function as a memory', `(import "${SNAPSHOT}" "fd_write" (memory 1))`],
    ['a function as a global', `(import "${SNAPSHOT}" "fd_write" (global i32))`],
  ].map(([what, text]) => ({
    name: `imports ${what}`,
    module: `(module ${text} (func (export "_start")))`,
    ends: KINDS,
  })),
  {
    name: 'imports a tag',
    module: moduleOf(
      TYPES,
      section(2, vector([[...text('env'), ...text('tag'), 0x04, 0x00, 0x00]])),
      FUNCTIONS,
      MEMORY,
      EXPORTS,
      BODY,
    ),
    ends: KINDS,
  },
  {
    name: 'imports 10,000 functions that there are',
    module: moduleOf(
      TYPES,
      section(2, vector(Array(10_000).fill([...text(SNAPSHOT), ...text('sched_yield'), 0x00, 0x00]))),
      FUNCTIONS,
      MEMORY,
      section(
        7,
        vector([
          [...text('memory'), 0x02, 0x00],
          [...text('_start'), 0x00, ...leb(10_000)],
        ]),
      ),
      BODY,
    ),
    ends: 0,
  },
  {
    name: 'imports 10,000 functions that there are not',
    module: moduleOf(
      TYPES,
      section(2, vector([...Array(10_000).keys()].map((i) => [...text('env'), ...text(`f${i}`), 0x00, 0x00]))),
      FUNCTIONS,
      MEMORY,
      EXPORTS,
      BODY,
    ),
    ends: REFUSED,
  },
];

const typed = (name: string, type: string, call: string): string =>
  `(module (import "${SNAPSHOT}" "${name}" (func $f ${type}))
    (memory (export "memory") 1) (func (export "_start") ${call}))`;
const types: Hostile[] = [
  {
    name: 'calls fd_write with a number of 64 bits',
    module: typed(
      'fd_write',
      '(param i64 i64 i64 i64) (result i32)',
      '(drop (call $f (i64.const 1) (i64.const 0) (i64.const 1) (i64.const 8)))',
    ),
    ends: /broke off/,
  },
  {
    name: 'calls random_get with fractions',
    module: typed('random_get', '(param f64 f64) (result i32)', '(drop (call $f (f64.const 0.5) (f64.const inf)))'),
    ends: ({ exitCode }) => exitCode === 0,
  },
  { name: 'calls fd_write without arguments', module: typed('fd_write', '(result i32)', '(drop (call $f))'), ends: 0 },
  {
    name: 'wants a number of 64 bits from fd_close',
    module: typed('fd_close', '(param i32) (result i64)', '(drop (call $f (i32.const 1)))'),
    ends: /broke off/,
  },
  {
    name: 'wants an answer of proc_exit',
    module: typed('proc_exit', '(param i32) (result i32)', '(drop (call $f (i32.const 3)))'),
    ends: 3,
  },
  {
    name: 'gives a reference for a number',
    module: typed('fd_close', '(param externref) (result i32)', '(drop (call $f (ref.null extern)))'),
    ends: 0,
  },
  {
    name: 'gives a function for a number',
    module: typed('random_get', '(param funcref i32) (result i32)', '(drop (call $f (ref.null func) (i32.const 9)))'),
    ends: 0,
  },
];

const NO_MEMORY = /it exports no memory/;
const NO_START = /it exports no _start/;
const exportedAs = (name: string): string => `(func (export "${name}"))`;
const exported: Hostile[] = [
  { name: 'exports no memory', module: '(module (memory 1) (func (export "_start")))', ends: NO_MEMORY },
  {
    name: 'exports a function as its memory',
    module: '(module (func (export "memory")) (func (export "_start")))',
    ends: NO_MEMORY,
  },
  {
    name: 'exports a global as its memory',
    module: '(module (global (export "memory") i32 (i32.const 1)) (func (export "_start")))',
    ends: NO_MEMORY,
  },
  {
    name: 'exports a table as its memory',
    module: '(module (table (export "memory") 1 funcref) (func (export "_start")))',
    ends: NO_MEMORY,
  },
  {
    name: 'exports memory as its start',
    module: '(module (memory (export "memory") (export "_start") 1))',
    ends: NO_START,
  },
  { name: 'exports nothing', module: '(module)', ends: NO_MEMORY },
  {
    name: 'exports a function of the system as its start',
    module: `(module (import "${SNAPSHOT}" "proc_exit" (func $e (param i32)))
      (memory (export "memory") 1) (export "_start" (func $e)))`,
    ends: 0,
  },
  {
    name: 'its start wants arguments',
    module: '(module (memory (export "memory") 1) (func (export "_start") (param i32 f64 externref)))',
    ends: 0,
  },
  {
    name: 'its start wants a number of 64 bits',
    module: '(module (memory (export "memory") 1) (func (export "_start") (param i64)))',
    ends: /broke off/,
  },
  {
    name: 'its start answers a million',
    module: '(module (memory (export "memory") 1) (func (export "_start") (result i32) (i32.const 1000000)))',
    ends: 0,
  },
  {
    name: 'exports names of every object',
    module: `(module ${COMMAND} ${['__proto__', 'then', 'constructor', 'toJSON'].map(exportedAs).join('')})`,
    ends: 0,
  },
  {
    name: 'calls the system before it is started',
    module: `(module ${SYSTEM} ${COMMAND} (func $s (drop (call $random_get (i32.const 0) (i32.const 8)))) (start $s))`,
    ends: /cannot be started: it calls a function of the system before it has been started/,
  },
  {
    name: 'exits before it is started',
    module: `(module ${SYSTEM} ${COMMAND} (func $s (call $proc_exit (i32.const 9))) (start $s))`,
    ends: 9,
  },
];

/** Exceptions: a tag of no value; `try ... catch_all ... end`. */
const TAG = section(13, vector([[0x00, 0x00]]));
const EXIT = section(2, vector([[...text(SNAPSHOT), ...text('proc_exit'), 0x00, 0x01]]));
const TWO_TYPES = section(
  1,
  vector([
    [0x60, 0x00, 0x00],
    [0x60, 0x01, 0x7f, 0x00],
  ]),
);
const SECOND = section(
  7,
  vector([
    [...text('memory'), 0x02, 0x00],
    [...text('_start'), 0x00, 0x01],
  ]),
);
const tryAll = (...after: number[]): number[] => [0x06, 0x40, 0x41, 0x05, 0x10, 0x00, 0x19, 0x0b, ...after];
const thrown: Hostile[] = [
  {
    name: 'throws what nothing catches',
    module: moduleOf(TYPES, FUNCTIONS, MEMORY, TAG, EXPORTS, section(10, vector([code(0x08, 0x00)]))),
    ends: /broke off: it threw an exception/,
  },
  {
    name: 'catches its own exit',
    module: moduleOf(TWO_TYPES, EXIT, FUNCTIONS, MEMORY, SECOND, section(10, vector([code(...tryAll())]))),
    ends: 5,
  },
  {
    name: 'catches its own exit and exits again',
    module: moduleOf(
      TWO_TYPES,
      EXIT,
      FUNCTIONS,
      MEMORY,
      SECOND,
      section(10, vector([code(...tryAll(0x41, 0x07, 0x10, 0x00))])),
    ),
    ends: 5,
  },
  {
    name: 'catches its own exit and loops',
    module: moduleOf(
      TWO_TYPES,
      EXIT,
      FUNCTIONS,
      MEMORY,
      SECOND,
      section(10, vector([code(...tryAll(0x03, 0x40, 0x0c, 0x00, 0x0b))])),
    ),
    ms: 200,
    ends: INTERRUPTED,
  },
];

const INVALID = /cannot be (compiled|run)/;
const good = moduleOf(TYPES, FUNCTIONS, MEMORY, EXPORTS, BODY);
const files: Hostile[] = [
  { name: 'is empty', module: new Uint8Array(0), ends: INVALID },
  { name: 'is a text', module: Buffer.from('#!/bin/sh\nkill -9 $PPID\n'), ends: INVALID },
  { name: 'is the beginning of a module', module: good.subarray(0, 8), ends: NO_MEMORY },
  ...[9, 12, 20, 30].map((length) => ({
    name: `ends after ${length} bytes`,
    module: good.subarray(0, length),
    ends: INVALID,
  })),
  {
    name: 'is of another version',
    module: Buffer.concat([Buffer.from([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]), good.subarray(8)]),
    ends: INVALID,
  },
  {
    name: 'has a section behind its end',
    module: Buffer.concat([good, Buffer.from([5, 0xff, 0xff, 0xff, 0xff, 0x0f])]),
    ends: INVALID,
  },
  {
    name: 'has an overlong number',
    module: Buffer.concat([good.subarray(0, 8), Buffer.from([5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01])]),
    ends: INVALID,
  },
  {
    name: 'says that it has 4,000,000,000 memories',
    module: moduleOf(TYPES, FUNCTIONS, section(5, leb(4_000_000_000)), EXPORTS, BODY),
    ends: INVALID,
  },
  {
    name: 'says that it has 4,000,000,000 tables',
    module: moduleOf(TYPES, FUNCTIONS, section(4, leb(4_000_000_000)), MEMORY, EXPORTS, BODY),
    ends: INVALID,
  },
  {
    name: 'says that it has 4,000,000,000 imports',
    module: moduleOf(TYPES, section(2, leb(4_000_000_000)), FUNCTIONS, MEMORY, EXPORTS, BODY),
    ends: INVALID,
  },
  {
    name: 'hides a second memory behind a section of its own',
    module: Buffer.concat([good.subarray(0, 8), Buffer.from(section(0, [...text('x'), ...MEMORY])), good.subarray(8)]),
    ends: 0,
  },
  { name: 'has a loop behind its end', module: command(`(return) ${forEver('')}`), ends: 0 },
];

export const shapeAttacks: readonly Hostile[] = [...imports, ...types, ...exported, ...thrown, ...files];
