import * as store from '../../postgres/bulk/action';
import { readBounds, readHeaviest } from '../../postgres/bulk/bounds';
import { withRetries } from '../../postgres/errors';
import { storedVersionOf } from '../../handlers/contracts/payloadVersion';
import type { Contract } from '../../handlers/types';
import type { ListedTask } from '../../postgres/listing/task';
import { isHiddenFromOlder } from '../../workflows/planning/bulk/fields';
import { IN_LANE } from '../../workflows/planning/bulk/actions';
import type { JsonObject } from '../../workflows/planning/bulk/mergePatch';
import type { BulkDryRun, BulkView } from '../../workflows/contracts/bulk';
import type { Connection } from '../connection';
import { InvalidArgumentError } from '../errors';
import { atOnce } from '../../workflows/planning/bulk/update';
import { findScope } from '../operations/scope';
import { toSummary } from '../tasks/list/list';
import { checkBulk, newBulkId } from './check';
import type { CheckedBulk } from './check';
import type { BulkInput, BulkStart } from './input';
import { decidePatches } from './patches';
import type { Bounds, BulkCursor } from './selection';
import { Selection } from './selection';
import type { StoredUpdate } from './stored';
import { sealBulk, toBulkView } from './stored';

/** Returns the bulk action and its handler, checked against the store. */
const checked = async (client: Connection, input: BulkInput): Promise<CheckedBulk & { bounds: Bounds }> => {
  const bulk = checkBulk(client, input);
  const { handlerId } = await findScope(client, input.handler, bulk.filter.target);
  const weight = bulk.deed.do === 'update' ? bulk.deed.weight : undefined;
  const most = weight === undefined ? null : await readHeaviest(client.pool, handlerId);
  if (weight !== undefined && most !== null && weight > most)
    throw new InvalidArgumentError('action.weight', `at most ${most}, as a call of the handler may have`, weight);
  const bounds = { handlerId, ...(await readBounds(client.pool)) };
  const { filter, deed } = bulk;
  if (deed.do === 'update' && (deed.expiresAtMs ?? Infinity) <= bounds.startUs / 1_000)
    throw new InvalidArgumentError(
      'action.expiresAt',
      'a time to come, or null',
      new Date(deed.expiresAtMs!).toISOString(),
      'To end tasks now, cancel them.',
    );
  if (deed.do !== 'update') return { filter, deed, bounds };
  const handler = client.handlers.get(input.handler);
  return { filter, deed: { ...atOnce(deed, bounds.startUs / 1_000), ...versionFor(deed, handler) }, bounds };
};

/** Returns which version of payloads the workers must know that change them. */
const versionFor = ({ payloadPatch }: StoredUpdate, handler: Contract | undefined): Partial<StoredUpdate> => {
  const payloadVersion = handler === undefined ? null : storedVersionOf(handler);
  return payloadPatch === undefined || payloadVersion === null ? {} : { payloadVersion };
};

/** Starts a bulk action, which a worker then makes. With an id that is taken, returns that one. */
export const startBulk = async (client: Connection, input: BulkStart): Promise<BulkView> => {
  const id = newBulkId(input?.id);
  const { bounds, ...plain } = await checked(client, input);
  const { filter, deed } = await sealBulk(client.sealer, plain);
  const row = {
    id,
    handlerId: bounds.handlerId,
    filter: JSON.stringify(filter),
    action: JSON.stringify(deed),
    isHidden: isHiddenFromOlder({ filter: { ...filter }, action: { ...deed } }),
    ...client.audit.actorNow(),
  };
  await withRetries(() => store.insertBulk(client.pool, row));
  return toBulkView((await store.readBulk(client.pool, id))!);
};

/** Longest that a dry run counts, in milliseconds, and tasks that it reads at once. */
const COUNT_MS = 10_000;
const PER_PAGE = 5_000;
const SAMPLE = 10;

/** Counts what a bulk action would change now, and changes nothing. */
export const dryRunBulk = async (client: Connection, input: BulkInput): Promise<BulkDryRun> => {
  const { filter, deed, bounds } = await checked(client, input);
  const selection = Selection.ofPlain(client.sealer, bounds, filter, deed);
  const { limit = Infinity } = filter;
  const until = performance.now() + COUNT_MS;
  const answer: BulkDryRun = { count: 0, complete: false, sample: [] };
  const sample: ListedTask[] = [];
  let next: BulkCursor | null = null;
  do {
    const page = await selection.page(client.pool, next, Math.min(PER_PAGE, limit - answer.count));
    answer.count += page.tasks.length;
    sample.push(...page.tasks.slice(0, SAMPLE - sample.length));
    ({ next } = page);
  } while (next !== null && answer.count < limit && performance.now() < until);
  answer.sample = sample.map((row) => toSummary(client.handlers.get(row.handler), row));
  answer.complete = next === null || answer.count >= limit;
  if (deed.do === 'update' && deed.payloadPatch !== undefined) {
    const handler = client.handlers.get(input.handler);
    if (handler !== undefined) answer.refused = await refusedOf(client, handler, deed.payloadPatch, sample);
  }
  return answer;
};

/** Returns those of some tasks that would keep their payloads, and why. */
const refusedOf = async (
  client: Connection,
  handler: Contract,
  patch: string,
  sample: readonly ListedTask[],
): Promise<BulkDryRun['refused']> => {
  const outside = sample.filter(({ inLane }) => !inLane);
  const seqs = outside.map(({ seq }) => seq);
  const { refused } = await decidePatches(client, handler, JSON.parse(patch) as JsonObject, seqs);
  return sample.flatMap(({ id, seq, inLane }) => {
    const reason = inLane ? IN_LANE : refused.get(seq);
    return reason === undefined ? [] : [{ id, reason }];
  });
};
