import type { SendCallbacksOptions } from '../../../client/callbacks/send';
import { callbacksToSend } from '../../../client/callbacks/send';
import type { Client } from '../../../client/client';
import type { TaskProblem } from '../../../client/errors';
import { InvalidTaskError, NotFoundError } from '../../../client/errors';
import { checkArguments, checkTemplate } from '../../../client/executions/check';
import { checkHead } from '../../../client/lanes/control';
import type { BatchInput } from '../../../client/lanes/checkBatch';
import { checkBatch } from '../../../client/lanes/checkBatch';
import type { LastingOptions, LimitSettings } from '../../../client/limits/check';
import type { SharedLimitSettings } from '../../../client/limits/checkShared';
import type { RedriveOptions } from '../../../client/operations/redrive';
import { findSeqs } from '../../../client/operations/redrive';
import { batchWithin } from '../../../client/operations/tenants/shownWithin';
import { findScope } from '../../../client/operations/scope';
import type { TaskInput } from '../../../client/tasks/checkTasks';
import { checkTask } from '../../../client/tasks/checkTasks';
import { readTaskStates } from '../../../postgres/operations/taskView';
import type { ExecuteRequest } from '../../../workflows/contracts/execution';
import { taskStateName } from '../../../workflows/planning/states';
import { readTargetPage } from '../dashboard/reads';
import type { Call } from '../route';
import { templateOf } from '../routes/executions';
import { callbacksOf, refuseLimitsAbove, refuseSharedAbove, refuseWorkflows } from '../routes/operator';
import { isAllowed } from '../tenants/bounds';
import { MOST_NAMED } from '../validate';

/** Reads what a change would act on. It writes nothing, and takes no lock. */
export type Preview = (call: Call) => Promise<unknown>;

interface Named {
  handler: string;
  target?: string;
  service: string;
  batch: number;
  callback: number;
  execution: string;
  fanout: string;
  node: string;
  bulk: string;
  name: string;
  no: number;
}
/** What the path and the body name: their contracts have checked it. */
const named = ({ params, body }: Call): Named & { body: never } =>
  ({ ...(body as object), ...(params as object), body }) as unknown as Named & { body: never };
const bodyOf = <T>({ body }: Call): T => body as T;

/** There is nothing that can be told before. */
const nothing: Preview = async () => null;

const handler: Preview = async (call) => {
  const { handler: name, target } = named(call);
  if (target !== undefined) return readTargetPage(call.client, name, target);
  return (await call.client.status(name, { exact: false }))[0];
};

const tasks: Preview = async (call) => {
  const { ids } = bodyOf<{ ids: readonly string[] }>(call);
  const found = new Map(
    (await readTaskStates(call.client.pool, ids)).map(({ id, state }) => [id, taskStateName(state)]),
  );
  const states: Record<string, number> = {};
  for (const id of ids) {
    const state = found.get(id) ?? 'no such task';
    states[state] = (states[state] ?? 0) + 1;
  }
  return { states, tasks: ids.slice(0, MOST_NAMED).map((id) => ({ id, state: found.get(id) ?? null })) };
};

/** Tells nothing of tasks of another handler: they are refused, as the real one refuses them. */
const redrive: Preview = async (call) => {
  const { ids, target } = bodyOf<RedriveOptions>(call);
  if (ids === undefined) return handler(call);
  const { handler: name } = named(call);
  await findSeqs(call.client, name, await findScope(call.client, name, target), ids);
  return tasks(call);
};

const batch: Preview = async (call) => {
  const { batch: id } = named(call);
  const found = await call.client.batch(id, { members: MOST_NAMED });
  if (found === null) throw new NotFoundError('batch', String(id), 'It does not exist, or it was deleted.');
  return batchWithin(found, call.prefix ?? '');
};

type Shown = Awaited<ReturnType<Client['lane']>>;
const lane = (call: Call): Promise<Shown> => call.client.lane(named(call).service, { batches: 5 });
/** Leaves out batches of handlers that are not the caller's. */
const ownPart = ({ caller }: Call, found: Shown): Shown => ({
  ...found,
  batches: found.batches.filter((one) => isAllowed(caller.limits.handlers, one.handler)),
});
/** Refuses what the real one refuses: a decision that was meant for another batch. */
const head: Preview = async (call) => {
  const { service, batch: meant } = named(call);
  const found = await lane(call);
  checkHead(service, found.haltedBy, { batch: meant });
  return ownPart(call, found);
};
const queuers: Preview = (call) => call.client.queuer();
const execution: Preview = (call) => call.client.execution(named(call).execution).status();

const fanout: Preview = async (call) => {
  const { fanout: id } = named(call);
  const found = await call.client.getFanout(id);
  if (found === null) throw new NotFoundError('fan-out', id, 'It was never opened, or it was deleted.');
  return found;
};

const items: Preview = async (call) => ({
  acked: await call.client.readItems(bodyOf<{ items: readonly string[] }>(call).items),
});

const node: Preview = async (call) => {
  const { node: name } = named(call);
  const found = (await call.client.nodes()).filter((one) => one.id === name || one.name === name);
  if (found.length === 0) throw new NotFoundError('node', name, 'See `GET /v1/nodes`.');
  return found;
};

const partition: Preview = async (call) => {
  const { handler: name, no } = named(call);
  const found = (await call.client.partitions({ handler: name })).find((one) => one.no === no);
  if (found === undefined) throw new NotFoundError('partition', `${name}/${no}`, 'See `GET /v1/partitions`.');
  return found;
};

const callback: Preview = (call) => callbacksToSend(call.client, { ids: [named(call).callback] }, 1);
const callbacks: Preview = (call) => callbacksToSend(call.client, bodyOf<SendCallbacksOptions>(call), MOST_NAMED);

const bulk: Preview = (call) => call.client.bulk.dryRun(bodyOf(call));

const startedBulk: Preview = async (call) => {
  const { bulk: id } = named(call);
  const found = await call.client.bulk.get(id);
  if (found === null) throw new NotFoundError('bulk action', id, 'See `GET /v1/bulk`.');
  return found;
};

const limits: Preview = (call) => {
  const { handler: name, target } = named(call);
  return call.client.limits.get(name, target === undefined ? {} : { target });
};
const newLimits: Preview = (call) => {
  const { until: _until, forMs: _forMs, ...asked } = bodyOf<LimitSettings & LastingOptions>(call);
  refuseLimitsAbove(call.operator, named(call), asked);
  return limits(call);
};

const sharedLimit: Preview = (call) => call.client.sharedLimits.get(named(call).name);
const newSharedLimit: Preview = async (call) => {
  const { until: _until, forMs: _forMs, ...asked } = bodyOf<SharedLimitSettings & LastingOptions>(call);
  const view = await call.client.sharedLimits.get(named(call).name);
  refuseSharedAbove(view, asked);
  return view;
};

/** Checks the tasks as a submit does, and says to which targets they would go. */
const newTasks: Preview = async (call) => {
  const { tasks: given, partial = false } = bodyOf<{ tasks: unknown[]; partial?: boolean }>(call);
  const contract = call.client.handler(named(call).handler);
  refuseWorkflows(call.operator, callbacksOf(given as TaskInput[], 'tasks'));
  const problems: TaskProblem[] = [];
  const checked = given.flatMap((task, index) => checkTask(contract, task, index, problems) ?? []);
  if (problems.length > 0 && !partial) throw new InvalidTaskError(problems);
  await call.admit?.(checked);
  const targets = new Map<string, { target: string; tasks: number; bytes: number }>();
  for (const { target, bytes } of checked) {
    const sum = targets.get(target) ?? { target, tasks: 0, bytes: 0 };
    targets.set(target, { target, tasks: sum.tasks + 1, bytes: sum.bytes + bytes });
  }
  return {
    valid: checked.length,
    refused: problems.slice(0, MOST_NAMED),
    targets: [...targets.values()].slice(0, MOST_NAMED),
  };
};

const newBatches: Preview = async (call) => {
  const { batches } = bodyOf<{ batches: readonly BatchInput[] }>(call);
  const contract = call.client.handler(named(call).handler);
  const checked = batches.map((one, index) => checkBatch(contract, one, `batches[${index}]`));
  await call.admit?.(checked.flatMap(({ tasks: items }) => items));
  return {
    batches: checked
      .slice(0, MOST_NAMED)
      .map(({ service, target, tasks: of }) => ({ service, target, items: of.length })),
  };
};

/** Checks the request as the real one does, and says how many items it has. */
const newExecution: Preview = async (call) => {
  const request = bodyOf<ExecuteRequest>(call);
  const { functionId, method } = checkTemplate(templateOf(call.operator, request.template), {});
  request.arguments.forEach(checkArguments);
  return { function: functionId, method, items: request.arguments.length };
};

/** Each route that changes something: what its dry run reads. */
export const PREVIEWS: Readonly<Record<string, Preview>> = {
  submitTasks: newTasks,
  cancelTasks: tasks,
  resolveTasks: tasks,
  flushHandler: handler,
  pauseHandler: handler,
  resumeHandler: handler,
  redriveTasks: redrive,
  completeBatch: handler,
  setTarget: handler,
  unsetTarget: handler,
  flushTarget: handler,
  pauseTarget: handler,
  resumeTarget: handler,
  submitBatches: newBatches,
  cancelBatch: batch,
  resolveBatch: batch,
  sendCallback: callback,
  sendCallbacks: callbacks,
  execute: newExecution,
  cancelExecution: execution,
  openFanout: nothing,
  addItems: fanout,
  sealFanout: fanout,
  ackItems: items,
  reopenItems: items,
  reapFanouts: nothing,
  pauseLane: lane,
  resumeLane: lane,
  setLaneWeight: lane,
  skipHead: head,
  fixHead: head,
  reportLost: lane,
  setQueuers: queuers,
  pauseQueuers: queuers,
  resumeQueuers: queuers,
  drainNode: node,
  movePartition: partition,
  startBulk: bulk,
  stopBulk: startedBulk,
  setLimits: newLimits,
  removeLimits: limits,
  setTargetLimits: newLimits,
  removeTargetLimits: limits,
  setSharedLimit: newSharedLimit,
  removeSharedLimit: sharedLimit,
  beginSession: nothing,
  endSession: nothing,
};
