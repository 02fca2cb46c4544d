import { setTimeout as sleep } from 'node:timers/promises';
import { readTaskStates } from '../../../postgres/operations/taskView';
import { isTerminal, taskStateName } from '../../../workflows/planning/states';
import type { Client } from '../../client';
import type { TaskView } from '../../views';
import { lineGroups } from './lines';
import type { Output } from './output';
import type { Progress } from './progress';
import type { Staged } from './spool';
import { LineSpool } from './spool';
import { FIRST_MS, GROWTH, LONGEST_MS } from '../../waiting';

export interface Waited {
  states: Record<string, number>;
  /**
   * Number of tasks that failed, are dead, cancelled or unknown, or were deleted before they were
   * seen.
   */
  bad: number;
  /** The first ten of those. */
  examples: { id: string; state: string; error?: string | null }[];
  /** Number of tasks that had not ended at the timeout. */
  open: number;
  timedOut: boolean;
  ms: number;
}

export interface WaitOptions {
  timeoutMs?: number | undefined;
  /** Called with each task when it has ended. Without this only states are read. */
  onTask?: ((task: object) => Promise<void>) | undefined;
}

/**
 * Most ids per statement. With `onTask` each task is read with its payload, so this limits memory.
 */
const GROUP = 1_000;
/**
 * Most ids per look; each look takes the next ids in turn. So the load of the store does not grow
 * with the number of tasks waited for.
 */
const PER_LOOK = 20_000;
const MAX_ID_LINE_BYTES = 4_096;
const MAX_EXAMPLES = 10;

/**
 * Waits until all tasks have ended, however many they are: the ids of open tasks are kept in files,
 * not in memory.
 */
export const waitForAll = async (
  client: Client,
  ids: LineSpool,
  options: WaitOptions,
  out: Output,
): Promise<Waited> => {
  const bar = out.progress('waiting  ', ids.count, 'tasks');
  const waiting = new Waiting(client, options, bar);
  let open = ids;
  try {
    while (open.count > 0 && !waiting.isOver) open = await waiting.round(open);
  } finally {
    bar.stop();
    await open.close();
  }
  return waiting.result();
};

class Waiting {
  isOver = false;
  private readonly begun = performance.now();
  private readonly waited: Omit<Waited, 'ms'> = { states: {}, bad: 0, examples: [], open: 0, timedOut: false };
  private ended = 0;
  private waitMs = FIRST_MS;

  constructor(
    private readonly client: Client,
    private readonly options: WaitOptions,
    private readonly bar: Progress,
  ) {}

  result(): Waited {
    return { ...this.waited, ms: Math.round(performance.now() - this.begun) };
  }

  /** Looks at every id once, in portions, and returns the ids of tasks that are still open. */
  async round(ids: LineSpool): Promise<LineSpool> {
    const file = await ids.finish();
    const open = await LineSpool.open();
    // After the timeout there is one last look at all ids, without pauses.
    const last = this.isTimeUp();
    let look = { count: 0, ended: this.ended, begun: performance.now() };
    const pause = (): Promise<void> => this.pause(this.ended - look.ended, look.count, performance.now() - look.begun);
    for await (const group of groupsOf(file)) {
      await this.look(group, open);
      look.count += group.length;
      if (look.count < PER_LOOK || last) continue;
      await pause();
      look = { count: 0, ended: this.ended, begun: performance.now() };
    }
    await file.close();
    if (last) {
      this.isOver = true;
      this.waited.timedOut = open.count > 0;
      this.waited.open = open.count;
    } else if (open.count > 0) await pause();
    return open;
  }

  private async look(group: readonly string[], open: LineSpool): Promise<void> {
    const states = new Map(
      (await readTaskStates(this.client.pool, group)).map((row) => [row.id, taskStateName(row.state)]),
    );
    const over: string[] = [];
    for (const id of group) {
      const state = states.get(id) ?? 'gone';
      if (state === 'gone' || state === 'unknown' || isTerminal(state)) over.push(id);
      else await open.add(id);
    }
    this.ended += over.length;
    this.bar.update(this.ended);
    for (const id of over) this.count(id, states.get(id) ?? 'gone');
    await this.report(over);
  }

  private count(id: string, state: string): void {
    this.waited.states[state] = (this.waited.states[state] ?? 0) + 1;
    if (state === 'succeeded') return;
    this.waited.bad++;
    if (this.waited.examples.length < MAX_EXAMPLES) this.waited.examples.push({ id, state });
  }

  private async report(over: readonly string[]): Promise<void> {
    const { examples } = this.waited;
    const unread = examples.filter((example) => example.error === undefined);
    if (this.options.onTask === undefined) {
      const errors = new Map(
        (await this.client.getTasks(unread.map(({ id }) => id))).map(({ id, error }) => [id, error]),
      );
      for (const example of unread) example.error = errors.get(example.id) ?? null;
    } else for (const task of await this.client.getTasks(over)) await this.options.onTask(answerOf(task));
  }

  private isTimeUp(): boolean {
    return performance.now() - this.begun >= (this.options.timeoutMs ?? Infinity);
  }

  /**
   * Pauses after a look: not at all if all of its tasks had ended, otherwise at least as long as
   * the look took, so that waiting is never most of the load.
   */
  private async pause(ended: number, looked: number, tookMs: number): Promise<void> {
    if (ended === looked || this.isTimeUp()) return;
    const leftMs = this.begun + (this.options.timeoutMs ?? Infinity) - performance.now();
    await sleep(Math.max(0, Math.min(Math.max(this.waitMs, tookMs), leftMs)));
    this.waitMs = Math.min(LONGEST_MS, this.waitMs * GROWTH);
  }
}

async function* groupsOf(ids: Staged): AsyncGenerator<string[]> {
  let group: string[] = [];
  for await (const { lines } of lineGroups(ids.read(), MAX_ID_LINE_BYTES))
    for (const { text } of lines) {
      group.push(JSON.parse(text!) as string);
      if (group.length < GROUP) continue;
      yield group;
      group = [];
    }
  if (group.length > 0) yield group;
}

/**
 * Returns what a program needs to know about a task's end, without the payload, which it has
 * already.
 */
const answerOf = ({ id, state, attempts, result, error }: TaskView): object => ({
  id,
  state,
  attempts,
  ...(result === undefined ? {} : { result }),
  ...(error == null ? {} : { error }),
});
