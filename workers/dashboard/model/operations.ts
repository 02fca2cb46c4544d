/**
 * Every change that a page asks of the API, by the id of its operation. Nothing else names a method
 * or a path.
 */
const OPERATIONS = {
  flushHandler: 'POST /v1/handlers/{handler}/flush',
  pauseHandler: 'POST /v1/handlers/{handler}/pause',
  resumeHandler: 'POST /v1/handlers/{handler}/resume',
  flushTarget: 'POST /v1/handlers/{handler}/targets/{target}/flush',
  pauseTarget: 'POST /v1/handlers/{handler}/targets/{target}/pause',
  resumeTarget: 'POST /v1/handlers/{handler}/targets/{target}/resume',
  redriveTasks: 'POST /v1/handlers/{handler}/redrive',
  cancelTasks: 'POST /v1/tasks:cancel',
  resolveTasks: 'POST /v1/tasks:resolve',
  cancelBatch: 'POST /v1/batches/{batch}/cancel',
  resolveBatch: 'POST /v1/batches/{batch}/resolve',
  pauseLane: 'POST /v1/lanes/{service}/pause',
  resumeLane: 'POST /v1/lanes/{service}/resume',
  setLaneWeight: 'PUT /v1/lanes/{service}/weight',
  skipHead: 'POST /v1/lanes/{service}/skip',
  fixHead: 'POST /v1/lanes/{service}/fix',
  pauseQueuers: 'POST /v1/queuers/pause',
  resumeQueuers: 'POST /v1/queuers/resume',
  cancelExecution: 'POST /v1/executions/{execution}/cancel',
  drainNode: 'POST /v1/nodes/{node}/drain',
  movePartition: 'POST /v1/partitions/{handler}/{no}/move',
  sendCallback: 'POST /v1/callbacks/{callback}/send',
  sendCallbacks: 'POST /v1/callbacks:send',
  startBulk: 'POST /v1/bulk',
  dryRunBulk: 'POST /v1/bulk:dry-run',
  stopBulk: 'POST /v1/bulk/{bulk}/stop',
  setLimits: 'PATCH /v1/limits/{handler}',
  removeLimits: 'DELETE /v1/limits/{handler}',
  setTargetLimits: 'PATCH /v1/limits/{handler}/targets/{target}',
  removeTargetLimits: 'DELETE /v1/limits/{handler}/targets/{target}',
  setSharedLimit: 'PATCH /v1/shared-limits/{name}',
  removeSharedLimit: 'DELETE /v1/shared-limits/{name}',
} as const;

export type Operation = keyof typeof OPERATIONS;
type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;
type MethodIn<Text> = Text extends `${infer Method} ${string}` ? Method : never;

export interface Request {
  operation: Operation;
  method: MethodIn<(typeof OPERATIONS)[Operation]>;
  path: string;
}

/** Returns how an operation is asked for. */
export const requestOf = <Op extends Operation>(
  operation: Op,
  params: Readonly<Record<NamesIn<(typeof OPERATIONS)[Op]>, string | number>>,
): Request => {
  const [method, form] = OPERATIONS[operation].split(' ') as [Request['method'], string];
  const given: Readonly<Record<string, string | number>> = params;
  return { operation, method, path: form.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given[name]!)) };
};
