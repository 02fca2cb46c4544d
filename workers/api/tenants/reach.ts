import { itemsAdded } from '../../../client/fanouts/fanout';
import { checkBatch } from '../../../client/lanes/checkBatch';
import type { HeadOptions } from '../../../client/lanes/control';
import { checkHead } from '../../../client/lanes/control';
import type { TaskInput } from '../../../client/tasks/checkTasks';
import type { ExecuteRequest } from '../../../workflows/contracts/execution';
import { parseItemId } from '../../../workflows/planning/fanouts/itemId';
import { ApiProblem } from '../problem';
import type { Call } from '../route';
import type { Named, Within } from './admission';
import { admission, keysOfTasks, newTasks } from './admission';

/**
 * Checks a call of a token that is limited, and may return another one in its place: with fewer
 * ids, or marked as the tenant's.
 */
type Check = (within: Within, call: Call) => Promise<Call | void> | Call | void;

/** What a call names, by field: its contract has checked it. */
const partsOf = <T>({ params, query, body }: Call): T =>
  ({ ...(params as object), ...(query as object), ...(body as object) }) as T;

/** It concerns every caller. */
const shared: Check = () => {
  throw new ApiProblem('not-found', 'No such path that this token may see.', { code: 'NOT_FOUND' });
};
/** It shows nothing of any caller. */
const harmless: Check = () => undefined;
const wholeHandler: Check = ({ bounds }, call) => bounds.wholeHandler(partsOf<{ handler: string }>(call).handler);
/** Of one handler that is the caller's; of all it concerns every caller. */
const namedHandler: Check = (within, call) =>
  (partsOf<{ handler?: string }>(call).handler === undefined ? shared : wholeHandler)(within, call);
/** Numbers of callbacks tell nothing of their handler. */
const namedSend: Check = (within, call) =>
  (partsOf<{ ids?: unknown }>(call).ids === undefined ? namedHandler : shared)(within, call);
const task: Check = ({ bounds }, call) => bounds.task(partsOf<{ id: string }>(call).id);
/** Other tasks with its key may be other tenants'. */
const explained: Check = async (within, call) => {
  await task(within, call);
  return { ...call, prefix: within.bounds.prefix };
};
/** Code of the handler is the operator's. */
const batch: Check = async ({ bounds }, call) => {
  await bounds.batches([partsOf<{ batch: number }>(call).batch]);
  return { ...call, prefix: bounds.prefix };
};
const bulk: Check = ({ bounds }, call) => bounds.bulk(partsOf<{ bulk: string }>(call).bulk);
const wholeLane: Check = ({ bounds }, call) => bounds.wholeLane(partsOf<{ service: string }>(call).service);
const execution: Check = ({ bounds }, call) => bounds.execution(partsOf<{ execution: string }>(call).execution);
const fanout: Check = ({ bounds }, call) => bounds.fanouts([partsOf<{ fanout: string }>(call).fanout]);

const withBody = (call: Call, more: object): Call => ({ ...call, body: { ...(call.body as object), ...more } });

const submitTasks: Check = async (within, call) => {
  const { handler, tasks } = partsOf<{ handler: string; tasks: readonly Named[] }>(call);
  const { bounds } = within;
  bounds.handler(handler);
  await newTasks(within, [['tasks', tasks]]);
  const all = tasks.flatMap(({ dependsOn = [] }) => dependsOn);
  const needed = [...new Set(all)];
  const here = new Set(tasks.map(({ id }) => id));
  const elsewhere = needed.filter((id) => !here.has(id));
  const mine = new Set(await bounds.tasks(elsewhere));
  const other = elsewhere.find((id) => !mine.has(id));
  if (other !== undefined) await bounds.task(other);
  return { ...call, ...admission(within, call, handler, (of, checked) => [...all, ...keysOfTasks(of, checked)]) };
};

interface NamedBatch {
  service: string;
  items: readonly Named[];
  dependsOn?: readonly (number | string)[];
}
const submitBatches: Check = async (within, call) => {
  const { handler, batches } = partsOf<{ handler: string; batches: readonly NamedBatch[] }>(call);
  const { bounds } = within;
  bounds.handler(handler);
  const services = batches.map(({ service }) => service);
  await bounds.newNames(services.map((service, i) => [`batches[${i}].service`, service]));
  await bounds.lanes(services);
  const lists = batches.map(({ items }, i) => [`batches[${i}].items`, items] as const);
  await newTasks(within, lists);
  await bounds.batches(batches.flatMap(({ dependsOn = [] }) => dependsOn.filter((one) => typeof one === 'number')));
  return { ...call, ...admission(within, call, handler) };
};

/** Leaves out ids that are not the caller's, as if there were none. */
const ownTasks: Check = async ({ bounds }, call) => {
  const { ids } = partsOf<{ ids: readonly string[] }>(call);
  return withBody(call, { ids: await bounds.tasks(ids) });
};

/** Refuses ids that are not the caller's. */
const allTasks: Check = async ({ bounds }, call) => {
  const { ids } = partsOf<{ ids: readonly string[] }>(call);
  const mine = new Set(await bounds.tasks(ids));
  const other = ids.find((id) => !mine.has(id));
  if (other !== undefined) await bounds.task(other);
};

/** The batch that is checked is meant: another handler's may halt the lane by then. */
type HeadOf = HeadOptions & { service: string };
const fixHead: Check = async (within, call) => {
  const { service, items = [], ...head } = partsOf<HeadOf & { items?: readonly (Named & TaskInput)[] }>(call);
  const { bounds, quotas } = within;
  const halt = await bounds.halt(service);
  await newTasks(within, [['items', items]]);
  const batch = checkHead(service, halt.batch, head);
  const { tenant } = bounds.limits;
  if (tenant !== null && halt.handler !== null && items.length > 0) {
    // Before the fix begins: it holds a connection, and what counts needs another one.
    const { tasks, reads, writes } = checkBatch(call.client.handler(halt.handler), { service, items });
    const added = [
      ...reads.filter((key) => !halt.reads.includes(key)),
      ...writes.filter((key) => !halt.writes.includes(key)),
    ];
    await quotas.insteadOf(tenant, halt)(tasks, added);
  }
  return withBody(call, { batch });
};
const skipHead: Check = async ({ bounds }, call) => {
  const { service, ...head } = partsOf<HeadOf>(call);
  const { batch } = await bounds.halt(service);
  return withBody(call, { batch: checkHead(service, batch, head) });
};

/**
 * A repeat under its key costs nothing, also where its answer was not kept. Where the first request
 * ended amid its list, a repeat adds to it, and that is what it costs.
 */
const execute: Check = async ({ bounds, quotas }, call) => {
  const tenant = bounds.tenant();
  const { keyId: id } = call;
  const { template, arguments: given } = call.body as ExecuteRequest;
  bounds.function(template.function_id);
  const lists = given.length;
  const sent = id === undefined ? null : await bounds.itemsSent(id);
  if (sent !== null) await quotas.items(tenant, Math.max(0, lists - sent));
  else if (id === undefined || !(await bounds.isOwnExecution(id))) await quotas.execution(tenant, lists);
  return { ...call, tenant };
};

const openFanout: Check = async ({ bounds, quotas }, call) => {
  const tenant = bounds.tenant();
  const { id = call.keyId } = partsOf<{ id?: string }>(call);
  if (id === undefined || (await bounds.isNewFanout(id))) await quotas.fanout(tenant);
  return { ...call, tenant };
};

const addItems: Check = async ({ bounds, quotas }, call) => {
  const { fanout: id, items, key = call.keyId } = partsOf<{ fanout: string; items: number; key?: string }>(call);
  await bounds.fanouts([id]);
  const before = key === undefined ? 0 : await itemsAdded(call.client.pool, id, items, key);
  await quotas.items(bounds.tenant(), Math.max(0, items - before));
};

/** An id that is malformed is the route's to refuse, by its place in the list. */
const items: Check = async ({ bounds }, call) => {
  const { items: ids } = partsOf<{ items: readonly string[] }>(call);
  await bounds.fanouts(ids.flatMap((id) => parseItemId(id)?.fanout ?? []));
};

const listExecutions: Check = ({ bounds }, call) => {
  const { handlers } = bounds.limits;
  return { ...call, tenant: bounds.tenant(), ...(handlers === null ? {} : { functions: handlers }) };
};
const listed: Check = ({ bounds }, call) => ({ ...call, tenant: bounds.tenant() });
const listLanes: Check = ({ bounds }, call) => {
  bounds.tenant();
  const { handlers } = bounds.limits;
  return { ...call, prefix: bounds.prefix, ...(handlers === null ? {} : { handlers }) };
};

/**
 * How each route is checked for a token that is limited to a tenant or to handlers. A route that is
 * not here cannot be served.
 */
export const REACH: Readonly<Record<string, Check>> = {
  submitTasks,
  getTask: task,
  lookUpTasks: ownTasks,
  explainTask: explained,
  cancelTasks: allTasks,
  resolveTasks: allTasks,
  getStatus: shared,
  getHandler: wholeHandler,
  watchHandler: wholeHandler,
  flushHandler: wholeHandler,
  pauseHandler: wholeHandler,
  resumeHandler: wholeHandler,
  redriveTasks: wholeHandler,
  completeBatch: wholeHandler,
  listTargets: wholeHandler,
  listTasks: wholeHandler,
  listAllTasks: shared,
  listErrors: namedHandler,
  listOutcomes: namedHandler,
  startBulk: wholeHandler,
  dryRunBulk: wholeHandler,
  listBulk: namedHandler,
  getBulk: bulk,
  stopBulk: bulk,
  listCallbacks: namedHandler,
  sendCallback: shared,
  sendCallbacks: namedSend,
  setTarget: wholeHandler,
  unsetTarget: wholeHandler,
  flushTarget: wholeHandler,
  pauseTarget: wholeHandler,
  resumeTarget: wholeHandler,
  listLimits: namedHandler,
  getLimits: wholeHandler,
  setLimits: wholeHandler,
  removeLimits: wholeHandler,
  getTargetLimits: wholeHandler,
  setTargetLimits: wholeHandler,
  removeTargetLimits: wholeHandler,
  listSharedLimits: shared,
  getSharedLimit: shared,
  setSharedLimit: shared,
  removeSharedLimit: shared,
  submitBatches,
  listBatches: wholeHandler,
  getBatch: batch,
  getLaneBatch: batch,
  getReceipts: batch,
  cancelBatch: batch,
  resolveBatch: batch,
  listLanes,
  getLane: wholeLane,
  pauseLane: wholeLane,
  resumeLane: wholeLane,
  setLaneWeight: shared, // a share of what others share
  skipHead,
  fixHead,
  reportLost: wholeLane,
  getQueuers: shared,
  setQueuers: shared,
  pauseQueuers: shared,
  resumeQueuers: shared,
  openFanout,
  getFanout: fanout,
  watchFanout: fanout,
  addItems,
  sealFanout: fanout,
  ackItems: items,
  reopenItems: items,
  readItems: items,
  reapFanouts: shared,
  execute,
  listExecutions,
  getExecution: execution,
  getProgress: execution,
  watchExecution: execution,
  getResults: execution,
  listWorkItems: execution,
  listChunks: execution,
  cancelExecution: execution,
  listNodes: shared,
  drainNode: shared,
  listPartitions: shared,
  movePartition: shared,
  getSession: harmless,
  beginSession: harmless,
  endSession: harmless,
  getOverview: harmless, // looks at the limits itself: it shows a token its part
  getHour: harmless, // as the overview
  getHandlerPage: wholeHandler,
  getTargetPage: wholeHandler,
  getBatchHalves: batch,
  listFanouts: listed,
  verify: shared,
  listAudit: shared,
  live: harmless,
  ready: harmless,
  metrics: shared,
  openapi: harmless,
};
