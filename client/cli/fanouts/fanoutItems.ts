import type { Command } from 'commander';
import { FanoutTimeoutError } from '../../fanouts/errors';
import { MusterError } from '../../errors';
import type { SegmentRange } from '../../../workflows/planning/fanouts/segments';
import { joinRanges, MAX_ITEMS } from '../../../workflows/planning/fanouts/segments';
import { command, durationOption, wholeOption } from '../support/command';
import { lineGroups } from '../support/lines';
import type { Output } from '../support/output';
import { plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

/**
 * Most bytes of a line. An id has at most 60 bytes, so a longer line is no id, and the error says
 * which line it is.
 */
const MAX_LINE_BYTES = 4_096;

interface AddOptions {
  ids?: boolean;
  key?: string;
}
export const addCommand = (): Command =>
  command(
    'add',
    'Add items to an open fan-out.',
    [
      'muster fanout add $ID 1000',
      'muster fanout add $ID 1000000 --ids > ids.txt',
      'muster fanout add $ID 50 --key part-3',
    ],
    'With --json: {"fanout", "items", "ranges"}; with --ids --json the ids come first, one JSON string per line.\n--key: repeating the command adds nothing and prints the same ids.',
  )
    .argument('<fanout>')
    .argument('<n>', 'number of items, 1 to 10,000,000,000', wholeOption(1, MAX_ITEMS))
    .option('--ids', 'print the ids as they are added, one per line')
    .option('--key <text>', 'makes the command safe to repeat')
    .action(runs(add));

async function add(session: Session<AddOptions>, fanout: string, n: number): Promise<void> {
  const { ids, key } = session.options;
  const client = await session.client();
  const bar = session.out.progress('adding', n, 'items');
  const ranges: SegmentRange[] = [];
  let items = 0;
  try {
    for await (const part of client.addItemsInParts(fanout, n, key === undefined ? {} : { key })) {
      for (const range of part.ranges) joinRanges(ranges, range);
      bar.update((items += part.items));
      if (ids === true) await print(session.out, part);
    }
  } finally {
    bar.stop();
  }
  if (ids !== true || session.out.json)
    session.out.answer({ fanout, items, ranges }, () => `added ${plural(items, 'item')} to ${fanout}`);
}

/** Prints ids, and waits while the reader is slow, so that memory stays bounded. */
const print = async (out: Output, ids: Iterable<string>): Promise<void> => {
  let text = '';
  const flush = async (): Promise<void> => {
    await out.piece(text);
    text = '';
  };
  for (const id of ids) {
    text += out.json ? `${JSON.stringify(id)}\n` : `${id}\n`;
    if (text.length > 65_536) await flush();
  }
  await flush();
};

interface AckOptions {
  file?: string;
  perCall: number;
}
export const ackCommand = (): Command =>
  command(
    'ack',
    'Ack items of one or more fan-outs, in any order, any number of times.',
    ['muster fanout ack $ID:0:17 $ID:0:18', 'muster fanout ack --file done.txt', 'consume | muster fanout ack -'],
    'With --json: {"items", "acked", "completed"}: items in the call, how many were not acked ' +
      'before, and the fan-outs that the call completed.\nReports an invalid id and exits with code 2; ' +
      'no item of its portion (--per-call) is acked.',
  )
    .argument('[ids...]', 'item ids; or - to read one id per line from standard input')
    .option('--file <file>', 'file with one id per line; - for standard input')
    .option('--per-call <n>', 'ids per SQL statement, 1 to 10,000', wholeOption(1, 10_000), 1_000)
    .action(runs(ack));

async function ack(session: Session<AckOptions>, given: string[] = []): Promise<void> {
  const { perCall } = session.options;
  const [file, ids] = given.join() === '-' ? ['-', []] : [session.options.file, given];
  if ((file === undefined) === (ids.length === 0))
    throw new MusterError('INVALID_ARGUMENT', 'expected either ids or --file');
  const source = file === undefined ? ids : linesOf(session.input(file));
  const answer = await (await session.client()).ackItems(source, { idsPerCall: perCall });
  session.out.answer(answer, () =>
    [
      `acked ${plural(answer.acked, 'item')}${answer.acked < answer.items ? `, ${answer.items - answer.acked} had been acked before` : ''}`,
      ...answer.completed.map(
        ({ id, userKey, items }) =>
          `fan-out ${id}${userKey === null ? '' : ` (${userKey})`} is complete, ${plural(items, 'item')}`,
      ),
    ].join('\n'),
  );
}

async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const { lines } of lineGroups(input, MAX_LINE_BYTES))
    for (const { text, number } of lines) yield text ?? `(line ${number}, longer than ${MAX_LINE_BYTES} bytes)`;
}

export const watchCommand = (): Command =>
  command(
    'watch',
    'Wait until a fan-out is complete, and show its progress.',
    ['muster fanout watch $ID', 'muster fanout watch $ID --timeout 10m --json'],
    'Exit code 1 if the fan-out expired, 4 after --timeout. With --json: as "fanout get".',
  )
    .argument('<fanout>')
    .option('--timeout <duration>', 'stop waiting after this (30s, 5m, 2h); the fan-out continues', durationOption)
    .action(runs(watch));

async function watch(session: Session<{ timeout?: number }>, fanout: string): Promise<void> {
  const client = await session.client();
  const first = await client.getFanout(fanout);
  const bar = session.out.progress('acked', Math.max(1, first?.items ?? 0), 'items');
  try {
    const { timeout } = session.options;
    const done = await client.waitForFanout(fanout, {
      ...(timeout === undefined ? {} : { timeoutMs: timeout }),
      onProgress: ({ items, open, openSegments, segments }) => {
        // For a very large fan-out, segments are counted instead of bits.
        const acked =
          open === null ? Math.floor((items * (segments - openSegments)) / Math.max(1, segments)) : items - open;
        bar.update(acked, Math.max(1, items));
      },
    });
    bar.stop();
    session.out.answer(
      done,
      () =>
        `fan-out ${fanout}${done.userKey === null ? '' : ` (${done.userKey})`} is complete, ${plural(done.items, 'item')}`,
    );
  } catch (error) {
    bar.stop();
    if (error instanceof FanoutTimeoutError) session.out.note('The fan-out continues; watch it again.');
    throw error;
  }
}
