import type { Client } from '../../../client';
import { Stream } from './stream';
import { uuidOf } from './uuid';

/** Executions of a function that asks the downstream; each item is to end well, and to have run. */

export const FUNCTION = 'chaos';
const EVERY_MS = 4_000;
const MOST_ITEMS = 40;
const MAX_ATTEMPTS = 100;

export interface ExecutionAccounts {
  /** Items by execution. */
  started: ReadonlyMap<string, number>;
  /** How often each item ran, by `<execution> <position>`. */
  runs: ReadonlyMap<string, number>;
  stored: readonly {
    id: string;
    state: string;
    items: readonly { position: number; state: string; stdout: string | null }[];
  }[];
}

export class ExecutionStream extends Stream {
  readonly started = new Map<string, number>();
  readonly runs = new Map<string, number>();

  constructor(
    private readonly client: Client,
    random: () => number,
  ) {
    super(EVERY_MS, random);
  }

  /** The route of the function. */
  readonly take = (body: unknown): object => {
    const { executionId, position } = body as { executionId: string; position: number };
    const key = `${executionId} ${position}`;
    this.runs.set(key, (this.runs.get(key) ?? 0) + 1);
    return {};
  };

  protected async piece(): Promise<void> {
    const { client, random } = this;
    const requestId = uuidOf(random);
    const lists = Array.from({ length: 1 + Math.floor(random() * MOST_ITEMS) }, (_, i) => [String(i)]);
    this.started.set(requestId, lists.length);
    const template = { functionId: FUNCTION, method: 'run' };
    await this.untilAccepted(() => client.execute(template, lists, { requestId, maxAttempts: MAX_ATTEMPTS }));
  }
}

/** What does not hold, in words. Pure. */
export const judgeExecutions = ({ started, runs, stored }: ExecutionAccounts): string[] => {
  const findings: string[] = [];
  const byId = new Map(stored.map((one) => [one.id, one]));
  for (const [id, n] of started) {
    const one = byId.get(id);
    if (one === undefined) {
      findings.push(`lost: execution ${id} is not in the store`);
      continue;
    }
    if (one.state !== 'done' || one.items.length !== n)
      findings.push(`execution ${id} of ${n} items is ${one.state}, with ${one.items.length} items`);
    for (const { position, state, stdout } of one.items) {
      if (state !== 'done' || stdout !== String(position))
        findings.push(`item ${position} of execution ${id} is ${state}, its result is ${stdout}`);
      if (!runs.has(`${id} ${position}`))
        findings.push(`item ${position} of execution ${id} is ${state} and never ran`);
    }
  }
  return findings;
};
