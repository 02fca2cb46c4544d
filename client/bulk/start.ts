import * as store from '../../postgres/bulk/action';
import { readBounds, readHeaviest } from '../../postgres/bulk/bounds';
import { withRetries } from '../../postgres/errors';
import { storedVersionOf } from '../../handlers/contracts/payloadVersion';
import type { Contract } from '../../handlers/types';
import { isHiddenFromOlder } from '../../workflows/planning/bulk/fields';
import type { BulkView } from '../../workflows/contracts/bulk';
import type { Connection } from '../connection';
import { InvalidArgumentError } from '../errors';
import { atOnce } from '../../workflows/planning/bulk/update';
import { findScope } from '../operations/scope';
import { checkBulk, newBulkId } from './check';
import type { CheckedBulk } from './check';
import type { BulkInput, BulkStart } from './input';
import type { Bounds } from './selection';
import type { StoredUpdate } from './stored';
import { sealBulk, toBulkView } from './stored';

/** Returns the bulk action and its handler, checked against the store. */
export const checkedByStore = async (
  client: Connection,
  input: BulkInput,
): Promise<CheckedBulk & { bounds: Bounds }> => {
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
  const { bounds, ...plain } = await checkedByStore(client, input);
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
