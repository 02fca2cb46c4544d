import type { Contract } from '../../handlers/types';
import type { ListedTask } from '../../postgres/listing/task';
import type { BulkDryRun } from '../../workflows/contracts/bulk';
import { IN_LANE, KEEPS_PAYLOAD } from '../../workflows/planning/bulk/actions';
import type { JsonObject } from '../../workflows/planning/bulk/mergePatch';
import type { Connection } from '../connection';
import { toSummary } from '../tasks/list/list';
import type { BulkInput } from './input';
import { decidePatches, patchedPerStep, tooLarge } from './patches';
import type { BulkCursor } from './selection';
import { isAsWanted, Selection } from './selection';
import { checkedByStore } from './start';
import type { StoredDeed, StoredUpdate } from './stored';

/** Longest that a dry run counts, in milliseconds, and tasks that it reads at once. */
const COUNT_MS = 10_000;
const PER_PAGE = 5_000;
/** Payloads that it decides about at once. */
const PATCHED_PER_PAGE = 500;
const SAMPLE = 10;

/** Counts what a bulk action would change now, and changes nothing. */
export const dryRunBulk = async (client: Connection, input: BulkInput): Promise<BulkDryRun> => {
  const { filter, deed, bounds } = await checkedByStore(client, input);
  const selection = Selection.ofPlain(client.sealer, bounds, filter, deed);
  const trial = trialOf(client, input.handler, deed);
  const most = trial === null ? PER_PAGE : patchedPerStep(trial.handler, PATCHED_PER_PAGE);
  const { limit = Infinity } = filter;
  const until = performance.now() + COUNT_MS;
  const answer: BulkDryRun = { count: 0, complete: false, sample: [] };
  const sample: ListedTask[] = [];
  let looked = 0;
  let next: BulkCursor | null = null;
  do {
    const page = await selection.page(client.pool, next, Math.min(most, limit - looked));
    const meant = trial === null ? page.tasks : await changing(client, trial, page.tasks);
    looked += page.tasks.length;
    answer.count += meant.length;
    sample.push(...meant.slice(0, SAMPLE - sample.length));
    ({ next } = page);
  } while (next !== null && looked < limit && performance.now() < until);
  answer.sample = sample.map((row) => toSummary(client.handlers.get(row.handler), row));
  answer.complete = next === null || looked >= limit;
  if (trial !== null) answer.refused = await refusedOf(client, trial, sample);
  return answer;
};

/** A patch that is tried on payloads. */
interface Trial {
  handler: Contract;
  deed: StoredUpdate;
  patch: JsonObject;
}

/** Returns the patch to be tried; null: there is none, or this program has not the handler. */
const trialOf = (client: Connection, name: string, deed: StoredDeed): Trial | null => {
  const handler = client.handlers.get(name);
  if (handler === undefined || deed.do !== 'update' || deed.payloadPatch === undefined) return null;
  return { handler, deed, patch: JSON.parse(deed.payloadPatch) as JsonObject };
};

const decided = (client: Connection, { handler, patch }: Trial, tasks: readonly ListedTask[]) =>
  decidePatches(
    client,
    handler,
    patch,
    tasks.flatMap(({ inLane, seq }) => (inLane ? [] : [seq])),
  );

/** Leaves out the tasks that are as wanted already. */
const changing = async (client: Connection, trial: Trial, tasks: readonly ListedTask[]): Promise<ListedTask[]> => {
  const { changed, refused, newer } = await decided(client, trial, tasks);
  return tasks.filter(
    (task) =>
      task.inLane || [changed, refused, newer].some((some) => some.has(task.seq)) || !isAsWanted(trial.deed, task),
  );
};

/** Returns those of some tasks that would keep their payloads, and why. */
const refusedOf = async (
  client: Connection,
  trial: Trial,
  sample: readonly ListedTask[],
): Promise<BulkDryRun['refused']> => {
  const plain = await decided(client, trial, sample);
  const large = await tooLarge(client, trial.handler, plain);
  return sample.flatMap(({ id, seq, inLane }) => {
    const isLarge = large.has(seq) ? KEEPS_PAYLOAD.large : undefined;
    const reason = inLane ? IN_LANE : (plain.refused.get(seq) ?? plain.newer.get(seq) ?? isLarge);
    return reason === undefined ? [] : [{ id, reason }];
  });
};
