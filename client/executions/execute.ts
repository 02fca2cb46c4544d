import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Sealer } from '../../handlers/codec/sealer';
import { withRetries } from '../../postgres/errors';
import * as store from '../../postgres/executions/execution';
import { readExecution } from '../../postgres/executions/view';
import { inTransaction } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import { EXECUTION } from '../../workflows/planning/executions/states';
import type { ExecuteOptions, Template } from './check';
import { checkArguments, checkTemplate, EmptyExecutionError, MAX_LISTS } from './check';
import { contentId } from './contentId';
import { InvalidArgumentError, MusterError } from '../errors';
import { sealArguments } from './sealedItems';

/**
 * Argument lists, each of which is one work item: at most 10,000,000 lists of texts, as an array or
 * a stream. A list has at most 10,000 texts and 262,144 bytes as JSON.
 */
export type ArgumentLists =
  readonly (readonly string[])[] | Iterable<readonly string[]> | AsyncIterable<readonly string[]>;

/** Most items per statement, and most bytes of their arguments. */
const PART = 10_000;
const PART_BYTES = 8_000_000;

interface Part {
  contentIds: string[];
  argumentLists: string[];
  bytes: number;
}
const newPart = (): Part => ({ contentIds: [], argumentLists: [], bytes: 0 });

/**
 * Stores an execution with its argument lists, in parts. One part takes one transaction; with more
 * parts the execution is staged until all lists are stored, so that nothing of an interrupted
 * request is ever run. Resolves when the execution is accepted, which means committed. Returns its
 * id, and whether it is new: a repeated request id with the same function and number of items is
 * the same request. One that continues a list must have the same settings, too.
 */
export const storeExecution = async (
  pool: Pool,
  template: Template,
  lists: ArgumentLists,
  options: ExecuteOptions,
  sealer: Sealer | null = null,
): Promise<{ id: string; items: number; isNew: boolean }> => {
  const { functionId, method, config } = checkTemplate(template, options);
  if (typeof lists !== 'object' || lists === null || !(Symbol.iterator in lists || Symbol.asyncIterator in lists))
    throw new InvalidArgumentError('arguments', 'a list of argument lists', lists);
  const id = (options.requestId ?? randomUUID()).toLowerCase();
  const execution = {
    id,
    functionId,
    method,
    config,
    topic: options.topic ?? null,
    maxAttempts: options.maxAttempts ?? 0,
    tenant: options.tenant ?? null,
  };
  const stored = new StoredParts(pool, execution, sealer);
  let part = newPart();
  let position = 0;
  for await (const args of lists as AsyncIterable<readonly string[]>) {
    if (position >= MAX_LISTS) throw new InvalidArgumentError('arguments', `at most ${MAX_LISTS} lists`, position + 1);
    const json = checkArguments(args, position);
    position++;
    part.contentIds.push(contentId(functionId, method, args));
    part.argumentLists.push(json);
    part.bytes += json.length;
    if (part.contentIds.length < PART && part.bytes < PART_BYTES) continue;
    await stored.add(part);
    part = newPart();
  }
  if (position === 0) throw new EmptyExecutionError();
  const isNew = await stored.complete(part);
  return { id, items: position, isNew };
};

class StoredParts {
  private items = 0;
  private begun = false;
  private isRepeat = false;

  constructor(
    private readonly pool: Pool,
    private readonly execution: store.NewExecution,
    private readonly sealer: Sealer | null,
  ) {}

  async add(part: Part): Promise<void> {
    await this.write(part, false);
  }

  async complete(rest: Part): Promise<boolean> {
    const total = this.items + rest.contentIds.length;
    await this.write(rest, true);
    if (this.isRepeat) await this.compare(total);
    return !this.isRepeat;
  }

  /**
   * Writes a part. The first part is written together with the execution, and the last one together
   * with the acceptance, so that a request of one part is a single commit.
   */
  private async write(part: Part, last: boolean): Promise<void> {
    const { id } = this.execution;
    const first = this.items;
    const n = part.contentIds.length;
    this.items += n;
    if (this.isRepeat) return;
    const sealed = { ...part, argumentLists: await sealArguments(this.sealer, part.argumentLists) };
    this.isRepeat = await withRetries(() =>
      inTransaction(this.pool, async (db) => {
        if (!this.begun && !(await store.insertExecution(db, this.execution)) && !(await this.isStaging())) return true;
        if (n > 0 && (await store.appendItems(db, id, first, sealed)) === null && !(await this.isThere(first + n)))
          throw new MusterError(
            'CANCELLED',
            `execution ${id}: it was cancelled or given up while its list was being sent`,
          );
        if (last && !(await store.acceptExecution(db, id, first + n)))
          throw new MusterError(
            'CANCELLED',
            `execution ${id}: it was cancelled or given up while its list was being sent`,
          );
        return false;
      }),
    );
    this.begun = true;
  }

  /**
   * Says whether this repeats a request whose first sender did not finish. The repeat then
   * continues where that sender stopped, and so must ask for the same: what it says otherwise would
   * be lost.
   */
  private async isStaging(): Promise<boolean> {
    const found = await readExecution(this.pool, this.execution.id);
    if (found?.state !== EXECUTION.staging) return false;
    const [before, now] = [askedBy(found), askedBy(this.execution)];
    const others = Object.keys(now).filter((field) => !isDeepStrictEqual(before[field], now[field]));
    if (others.length > 0) throw this.conflict(`with another ${others.join(', ')}`);
    return true;
  }

  /**
   * Says whether a part is already stored, because the answer was lost or another sender has stored
   * it.
   */
  private async isThere(items: number): Promise<boolean> {
    const found = await readExecution(this.pool, this.execution.id);
    return found !== null && found.state !== EXECUTION.cancelled && found.items >= items;
  }

  private async compare(total: number): Promise<void> {
    const { id, functionId, method } = this.execution;
    const found = await readExecution(this.pool, id);
    if (found === null || found.functionId !== functionId || found.method !== method || found.items !== total)
      throw this.conflict(`(${found?.functionId}/${found?.method}, ${found?.items} items)`);
  }

  private conflict(how: string): MusterError {
    return new MusterError(
      'ID_CONFLICT',
      `requestId: expected a new UUID, got ${this.execution.id}, which another request has used ${how}. ` +
        'Nothing was accepted.',
    );
  }
}

/** What a request asks for beside its list. */
const askedBy = ({
  functionId,
  method,
  config,
  topic,
  maxAttempts,
}: Omit<store.NewExecution, 'id' | 'tenant'>): Record<string, unknown> => ({
  functionId,
  method,
  config: JSON.parse(JSON.stringify(config)) as object,
  topic,
  maxAttempts,
});
