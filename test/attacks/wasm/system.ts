import type { Hostile } from './hostile';
import { answer, command, ERRNO, forEver, INTERRUPTED, tries } from './hostile';

/** Modules that call the system with what no command would give it. */

/** The end of its one page of memory. */
const END = 65_536;
const WILD = ['-1', '-4', String(END), String(END - 1), '2147483647', '-2147483648'];

const each = <T>(values: readonly T[], make: (value: T) => Hostile): Hostile[] => values.map(make);

const signals = tries(
  [...Array(32).keys()].map((signal) => ({ call: `proc_raise (i32.const ${signal})`, ends: ERRNO.nosys })),
);

const FILE = `(i32.const 0) (i32.const 1) (i32.const 0) ${'(i64.const -1)'.repeat(2)} (i32.const 0) (i32.const 8)`;
const sockets = tries(
  [0, 1, 2, 3, -1].flatMap((fd) =>
    [
      `sock_accept (i32.const ${fd}) (i32.const 0) (i32.const 0)`,
      `sock_recv (i32.const ${fd}) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8)`,
      `sock_send (i32.const ${fd}) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 8)`,
      `sock_shutdown (i32.const ${fd}) (i32.const 3)`,
      `path_open (i32.const ${fd}) (i32.const 0) ${FILE}`,
    ].map((call) => ({
      call,
      ends: fd < 0 || fd > 2 ? ERRNO.badf : call.startsWith('sock') ? ERRNO.notsock : ERRNO.notdir,
    })),
  ),
);

const CLOSED =
  '(drop (call $fd_close (i32.const 0))) (drop (call $fd_close (i32.const 1))) (drop (call $fd_close (i32.const 2)))';
const descriptors: Hostile[] = [
  {
    name: 'closes all, then writes',
    module: answer('fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8)', CLOSED),
    ends: ERRNO.badf,
  },
  { name: 'closes all, then closes one again', module: answer('fd_close (i32.const 0)', CLOSED), ends: ERRNO.badf },
  {
    name: 'closes a million descriptors',
    module: command(
      `(loop $on (drop (call $fd_close (local.tee $n (i32.add (local.get $n) (i32.const 1)))))
        (br_if $on (i32.lt_u (local.get $n) (i32.const 1000000))))`,
    ),
    ends: 0,
  },
  {
    name: 'renumbers its input to an output',
    module: answer(
      'fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8)',
      '(drop (call $fd_renumber (i32.const 0) (i32.const 1)))',
    ),
    ends: ERRNO.badf,
  },
  {
    name: 'renumbers to what is not open',
    module: answer('fd_renumber (i32.const 1) (i32.const 20)'),
    ends: ERRNO.badf,
  },
  { name: 'renumbers an output to itself', module: answer('fd_renumber (i32.const 1) (i32.const 1)'), ends: 0 },
  {
    name: 'seeks its output',
    module: answer('fd_seek (i32.const 1) (i64.const -1) (i32.const 2) (i32.const 0)'),
    ends: ERRNO.spipe,
  },
  { name: 'asks for a folder', module: answer('fd_prestat_get (i32.const 3) (i32.const 0)'), ends: ERRNO.badf },
];

const pointers = tries(
  WILD.flatMap((at) =>
    [
      `args_sizes_get (i32.const ${at}) (i32.const 0)`,
      `args_sizes_get (i32.const 0) (i32.const ${at})`,
      `args_get (i32.const ${at}) (i32.const 0)`,
      `args_get (i32.const 0) (i32.const ${at})`,
      `clock_time_get (i32.const 0) (i64.const 0) (i32.const ${at})`,
      `clock_res_get (i32.const 1) (i32.const ${at})`,
      `fd_fdstat_get (i32.const 1) (i32.const ${at})`,
      `fd_filestat_get (i32.const 1) (i32.const ${at})`,
      `fd_write (i32.const 1) (i32.const ${at}) (i32.const 1) (i32.const 0)`,
      `fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const ${at})`,
      `fd_read (i32.const 0) (i32.const ${at}) (i32.const 1) (i32.const 0)`,
      `fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const ${at})`,
      `poll_oneoff (i32.const ${at}) (i32.const 64) (i32.const 1) (i32.const 0)`,
      `poll_oneoff (i32.const 0) (i32.const ${at}) (i32.const 1) (i32.const 0)`,
      `poll_oneoff (i32.const 0) (i32.const 64) (i32.const 1) (i32.const ${at})`,
      `random_get (i32.const ${at}) (i32.const 16)`,
    ].map((call) => ({ call, ends: ERRNO.fault })),
  ),
);

const vector = (at: string, length: string): string =>
  `(i32.store (i32.const 0) (i32.const ${at})) (i32.store (i32.const 4) (i32.const ${length}))`;
const WRITE = 'fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)';
const lengths: Hostile[] = [
  ...each(
    [
      ['0', '-1'],
      ['-1', '1'],
      ['65535', '2'],
      ['0', '65537'],
      ['1', '2147483647'],
      ['-2147483648', '-2147483648'],
    ] as const,
    ([at, length]) => ({
      name: `writes ${length} bytes at ${at}`,
      module: answer(WRITE, vector(at, length)),
      ends: ERRNO.fault,
    }),
  ),
  ...tries(
    [
      ...['-1', '2147483647', '-2147483648', '8192', '536870912'].map(
        (count) => `fd_write (i32.const 1) (i32.const 8) (i32.const ${count}) (i32.const 0)`,
      ),
      ...['-1', '65537', '2147483647'].map((length) => `random_get (i32.const 0) (i32.const ${length})`),
      'random_get (i32.const 65535) (i32.const 2)',
    ].map((call) => ({ call, ends: ERRNO.fault })),
  ),
  {
    name: 'fills all of its memory with random bytes, again and again',
    module: command(forEver('(drop (call $random_get (i32.const 0) (i32.const 65536)))')),
    ms: 200,
    ends: INTERRUPTED,
  },
];

/** A subscription to a clock at address 0. */
const clock = (id: string, time: string, flags: string): string =>
  `(i32.store (i32.const 16) (i32.const ${id})) (i64.store (i32.const 24) (i64.const ${time}))
    (i32.store16 (i32.const 40) (i32.const ${flags}))`;
const POLL = 'poll_oneoff (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)';
const polls: Hostile[] = [
  ...tries(
    ['0', '-1', '2147483647', '4097', '1366'].map((count) => ({
      call: `poll_oneoff (i32.const 0) (i32.const 0) (i32.const ${count}) (i32.const 0)`,
      ends: count === '1366' ? ERRNO.fault : ERRNO.inval,
    })),
  ),
  { name: 'waits until the end of time', module: answer(POLL, clock('1', '-1', '1')), ms: 200, ends: INTERRUPTED },
  { name: 'waits for 584 years', module: answer(POLL, clock('0', '-1', '0')), ms: 200, ends: INTERRUPTED },
  { name: 'waits for the year 1970', module: answer(POLL, clock('0', '0', '1')), ends: 0 },
  { name: 'waits for a clock that there is not', module: answer(POLL, clock('99', '0', '0')), ends: 0 },
  {
    name: 'waits for nothing that there is',
    module: answer(POLL, '(i32.store8 (i32.const 8) (i32.const 9))'),
    ends: ERRNO.inval,
  },
  {
    name: 'waits for a descriptor that it has not',
    module: answer(POLL, '(i32.store8 (i32.const 8) (i32.const 1)) (i32.store (i32.const 16) (i32.const 77))'),
    ends: 0,
  },
  {
    name: 'has events written over subscriptions',
    module: answer('poll_oneoff (i32.const 0) (i32.const 8) (i32.const 100) (i32.const 4)'),
    ends: 0,
  },
  {
    name: 'asks for the time for ever',
    module: command(forEver('(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 0)))')),
    ms: 200,
    ends: INTERRUPTED,
  },
  { name: 'yields for ever', module: command(forEver('(drop (call $sched_yield))')), ms: 200, ends: INTERRUPTED },
];

const ended: Hostile[] = each([-1, 255, 256, 2_147_483_647, -2_147_483_648], (code) => ({
  name: `exits with ${code}`,
  module: command(`(call $proc_exit (i32.const ${code}))`),
  ends: code,
}));

const writes = (fd: number, length: number): string =>
  vector('0', String(length)) +
  forEver(`(drop (call $fd_write (i32.const ${fd}) (i32.const 0) (i32.const 1) (i32.const 16)))`);
const outputs: Hostile[] = [
  ...[1, 2].flatMap((fd) =>
    each([1, 65_536], (length) => ({
      name: `floods output ${fd} with writes of ${length} bytes`,
      module: command(writes(fd, length)),
      ms: 300,
      ends: INTERRUPTED,
    })),
  ),
  ...each(['\\ff\\fe\\fd', '\\00\\00\\00', '\\ed\\a0\\80', '\\ef\\bb\\bf', '\\f4\\90\\80\\80'], (bytes) => ({
    name: `writes the bytes ${bytes}`,
    module: answer(
      'fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)',
      vector('1024', String(bytes.length / 3)),
    ).replace('(func (export', `(data (i32.const 1024) "${bytes}") (func (export`),
    ends: ({ exitCode, stdout }) => exitCode === 0 && stdout.isWellFormed(),
  })),
];

export const systemAttacks: readonly Hostile[] = [
  ...signals,
  ...sockets,
  ...descriptors,
  ...pointers,
  ...lengths,
  ...polls,
  ...ended,
  ...outputs,
];
