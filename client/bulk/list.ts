import type { BulkPlace } from '../../postgres/bulk/action';
import { listBulks } from '../../postgres/bulk/action';
import type { BulkPage } from '../../workflows/contracts/bulk';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { decodePlace, encodePlace } from '../listing/pageCursor';
import { findScope } from '../operations/scope';
import { checkBulkId } from './check';
import { toBulkView } from './stored';

/** Options of `bulk.list`: which bulk actions, and which page of them. */
export interface ListBulkOptions {
  /** Only those on tasks of this handler; default: of all. */
  handler?: string;
  /** Only those that have not ended. Default: false. */
  open?: boolean;
  /** Most bulk actions of the page, 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

/** A time after all: in the year 2223, in microseconds. */
const NEWEST: BulkPlace = [8e15, 'ffffffff-ffff-ffff-ffff-ffffffffffff'];

export const listBulk = async (client: ClientContext, options: ListBulkOptions = {}): Promise<BulkPage> => {
  const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
  const [us, id] = decodePlace('bulk', NEWEST, options.after);
  const place: BulkPlace = [us, checkBulkId(id)];
  const handlerId = options.handler === undefined ? null : (await findScope(client, options.handler)).handlerId;
  await client.ready();
  const scope = { handlerId, openOnly: options.open === true };
  const rows = await listBulks(client.pool, scope, place, limit);
  const last = rows.at(-1);
  const next = rows.length < limit || last === undefined ? null : encodePlace('bulk', [last.startUs, last.id]);
  return { actions: rows.map(toBulkView), next };
};
