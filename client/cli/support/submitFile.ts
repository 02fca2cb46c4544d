import type { Contract } from '../../../handlers';
import type { Client as Tx } from '../../../postgres/pool';
import { inTransaction } from '../../../postgres/pool';
import type { TaskInput } from '../../tasks/checkTasks';
import { checkTask } from '../../tasks/checkTasks';
import type { Client } from '../../client';
import type { TaskProblem } from '../../errors';
import { InvalidTaskError, MusterError } from '../../errors';
import type { FailureTexts } from '../../tasks/failureTexts';
import { withFailureTexts } from '../../tasks/failureTexts';
import type { LineProblem } from './lineProblem';
import { atLine, sayProblem } from './lineProblem';
import { lineGroups } from './lines';
import type { Output } from './output';
import { plural } from './output';
import type { LineSpool, Staged } from './spool';
import { isLineProblem, parseTaskLine } from './taskLine';

export interface Accepted {
  /** Number of new tasks. */
  accepted: number;
  /** Number of tasks that existed already with the same content. */
  repeated: number;
  /** Number of bad lines; with --partial only. */
  refused: number;
  /** The first problems, at most 1,000. */
  problems: LineProblem[];
}

/** Most problems that are kept and reported; the others are only counted. */
const MAX_PROBLEMS = 1_000;
/**
 * Most tasks per statement: few enough that a transaction over millions of tasks takes little
 * memory.
 */
const CHUNK = 5_000;
/** Most bytes per statement, since payloads may be large. */
const CHUNK_BYTES = 16 * 1_024 * 1_024;

/** The file has bad lines. Nothing of it was accepted. */
export class RefusedFileError extends MusterError {
  constructor(
    file: string,
    readonly problems: readonly LineProblem[],
    readonly problemCount: number,
  ) {
    const shown = problems.slice(0, 20).map((problem) => `\n  ${sayProblem(problem)}`);
    const more = problems.length > shown.length ? [`\n  and ${problems.length - shown.length} more`] : [];
    super(
      'INVALID_LINES',
      `${file} has ${plural(problemCount, 'bad line')}, nothing was accepted (--partial accepts the others):${[...shown, ...more].join('')}`,
    );
  }
}

/** Collects the first problems of a file, and counts the lines that have any. */
export class Problems {
  readonly kept: LineProblem[] = [];
  private readonly lines = new Set<number>();
  private lastLine = 0;
  /** Number of bad lines, each of which may have several problems. */
  count = 0;
  add(problem: LineProblem): void {
    if (problem.line !== this.lastLine && !this.lines.has(problem.line)) this.count++;
    this.lastLine = problem.line;
    if (this.kept.length >= MAX_PROBLEMS) return;
    this.lines.add(problem.line);
    this.kept.push(problem);
  }
}

/**
 * Returns the most bytes of a line: enough for the largest payload in any JSON spelling (each byte
 * as \u00xx, with white space).
 */
export const maxLineBytes = (handler: Contract): number => Math.max(1_048_576, handler.maxPayloadBytes * 8);

/**
 * Reads the whole file and checks every line against the handler. Stores nothing.
 *
 * @throws RefusedFileError with the problems of all lines.
 */
export const checkFile = async (client: Client, handlerName: string, file: Staged, out: Output): Promise<void> => {
  const handler = client.handler(handlerName);
  const problems = new Problems();
  const bar = out.progress('checking ', file.bytes, 'bytes');
  try {
    for await (const { lines, bytes } of lineGroups(file.read(), maxLineBytes(handler))) {
      for (const line of lines) {
        const parsed = parseTaskLine(line, maxLineBytes(handler));
        const found: TaskProblem[] = [];
        if (isLineProblem(parsed)) problems.add(parsed);
        else checkTask(handler, parsed, line.number, found);
        for (const problem of found) problems.add(atLine(problem, line.number));
      }
      bar.update(bytes);
    }
  } finally {
    bar.stop();
  }
  if (problems.count > 0) throw new RefusedFileError(file.name, problems.kept, problems.count);
};

/**
 * Accepts the file in one transaction, whatever its size, and then wakes the leaders. Adds the ids
 * that are in the store to `ids`.
 */
export const acceptFile = async (
  client: Client,
  handlerName: string,
  file: Staged,
  partial: boolean,
  ids: LineSpool | null,
  out: Output,
): Promise<Accepted> => {
  await client.ready();
  const run = new Acceptance(client, handlerName, file.name, partial, ids);
  const bar = out.progress('accepting', file.bytes, 'bytes');
  try {
    await withFailureTexts(FILE, () =>
      inTransaction(client.pool, async (tx) => {
        const maxBytes = maxLineBytes(client.handler(handlerName));
        for await (const { lines, bytes } of lineGroups(file.read(), maxBytes)) {
          for (const line of lines)
            await run.take(tx, parseTaskLine(line, maxBytes), line.number, line.text?.length ?? 0);
          bar.update(bytes);
        }
        await run.flush(tx);
      }),
    );
  } finally {
    bar.stop();
  }
  await client.releaseDependents();
  await client.ring(run.targetIds);
  return { accepted: run.accepted, repeated: run.repeated, refused: run.problems.count, problems: run.problems.kept };
};

const FILE: FailureTexts = {
  none: 'Nothing of the file was accepted.',
  unknown:
    'The connection was lost while the file was being accepted: either all of it was accepted or nothing. Submit it again: the same ids are the same tasks.',
};

/** Stores the tasks of one transaction in chunks. */
class Acceptance {
  accepted = 0;
  repeated = 0;
  readonly problems = new Problems();
  readonly targetIds = new Set<number>();
  private tasks: TaskInput[] = [];
  private lines: number[] = [];
  private size = 0;

  constructor(
    private readonly client: Client,
    private readonly handler: string,
    private readonly file: string,
    private readonly partial: boolean,
    private readonly ids: LineSpool | null,
  ) {}

  async take(tx: Tx, parsed: TaskInput | LineProblem, line: number, size: number): Promise<void> {
    if (isLineProblem(parsed)) return this.problems.add(parsed);
    this.tasks.push(parsed);
    this.lines.push(line);
    this.size += size;
    if (this.tasks.length >= CHUNK || this.size >= CHUNK_BYTES) await this.flush(tx);
  }

  async flush(tx: Tx): Promise<void> {
    const { tasks, lines } = this;
    if (tasks.length === 0) return;
    this.tasks = [];
    this.lines = [];
    this.size = 0;
    const result = await this.store(tx, tasks, lines);
    this.accepted += result.accepted;
    this.repeated += result.repeated;
    for (const id of result.targetIds) this.targetIds.add(id);
    const refused = new Set(result.refused.map((problem) => problem.index));
    for (const problem of result.refused) this.problems.add(atLine(problem, lines[problem.index]!));
    if (this.ids === null) return;
    for (const [index, task] of tasks.entries()) if (!refused.has(index)) await this.ids.add(task.id);
  }

  private async store(tx: Tx, tasks: TaskInput[], lines: number[]) {
    try {
      return await this.client.submit(this.handler, tasks, { tx, partial: this.partial });
    } catch (error) {
      if (!(error instanceof InvalidTaskError)) throw error;
      const problems = error.problems.map((problem) => atLine(problem, lines[problem.index]!));
      throw new RefusedFileError(
        this.file,
        problems.slice(0, MAX_PROBLEMS),
        new Set(problems.map(({ line }) => line)).size,
      );
    }
  }
}
