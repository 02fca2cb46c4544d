import type { Command } from 'commander';
import { Option } from 'commander';
import type { ItemResult } from '../../../handlers';
import { MusterError } from '../../errors';
import { command, wholeOption } from '../support/command';
import { exactJson } from '../support/exactJson';
import { INVALID_UTF8, lineGroups } from '../support/lines';
import { plural } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  reference?: string;
  batch?: number;
  file?: string;
  status?: 'done' | 'expired' | 'failed';
  error?: string;
}

const NOTES = `Each line of the file: {"id" or "index", "status": "ok" | "retry" | "failed" | "unknown", "result"?,
"error"?}. A task without a line becomes unknown, or is retried with --status expired; --status failed
takes no file. A repeated completion returns the same answer. A batch that ended with another answer is
refused (exit code 1); so is a completion before its acceptance is written (exit code 5: send it again).`;

/**
 * Most bytes of a line: a result has at most 1 MB, but JSON may spell it with up to eight times as
 * many bytes.
 */
const MAX_LINE_BYTES = 8_000_000;

export const completeCommand = (): Command =>
  command(
    'complete',
    'Report the outcome of a batch that the downstream accepted, instead of polling for it.',
    [
      'muster complete orders --reference job-17 --file results.ndjson',
      'fetch-results job-17 | muster complete orders --batch 42 --file - --json',
      'muster complete orders --reference job-17 --status failed --error "the file was not valid"',
    ],
    NOTES,
  )
    .argument('<handler>', 'handler of the batch')
    .option('--reference <reference>', 'reference that the downstream returned on acceptance')
    .option('--batch <n>', 'number of the batch', wholeOption(1, Number.MAX_SAFE_INTEGER))
    .option('--file <file>', 'results as JSON Lines; - for standard input')
    .addOption(
      new Option('--status <status>', 'outcome of the batch (default: done)').choices(['done', 'expired', 'failed']),
    )
    .option('--error <text>', 'with --status expired or failed: the reason')
    .action(runs(complete));

async function complete(session: Session<Options>, handler: string): Promise<void> {
  const { reference, batch, file, status, error } = session.options;
  if ((reference === undefined) === (batch === undefined))
    throw usage(`expected either --reference or --batch, got ${reference === undefined ? 'neither' : 'both'}`);
  if (file === undefined && (status ?? 'done') === 'done')
    throw usage('--file: expected a file with the results, or - for stdin, got nothing');
  const client = await session.client({ handlers: true });
  const answer = await client.complete(handler, {
    ...(reference === undefined ? { batchId: batch! } : { reference }),
    ...(status === undefined ? {} : { status }),
    ...(file === undefined ? {} : { results: resultsOf(session, file) }),
    ...(error === undefined ? {} : { error }),
  });
  session.out.answer(answer, () => {
    const { results, state, repeated } = answer;
    const counts = Object.entries(results ?? {})
      .filter(([, n]) => n > 0)
      .map(([name, n]) => `${n} ${name}`);
    const total = Object.values(results ?? {}).reduce((sum, n) => sum + n, 0);
    const what = results === null ? '' : `: ${plural(total, 'task')} (${counts.join(', ')})`;
    return `batch ${answer.batch} ${repeated ? 'was already completed with the same answer' : 'completed'}: it is ${state}${what}`;
  });
}

async function* resultsOf(session: Session, file: string): AsyncGenerator<ItemResult> {
  try {
    for await (const { lines } of lineGroups(session.input(file), MAX_LINE_BYTES))
      for (const line of lines) yield parsed(file, line);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ENOENT') throw error;
    throw usage(`--file: expected a file at ${file}, got none`);
  }
}

const parsed = (file: string, { number, text }: { number: number; text: string | null }): ItemResult => {
  if (text === null) throw usage(`${file}, line ${number}: expected at most ${MAX_LINE_BYTES} bytes, got more`);
  if (text === INVALID_UTF8) throw usage(`${file}, line ${number}: expected UTF-8`);
  return exactJson(text, `${file}, line ${number}`, 'INVALID_ARGUMENT') as ItemResult;
};

const usage = (message: string): MusterError => new MusterError('INVALID_ARGUMENT', message);
