import { COMMON_LANE, NODE, PLACED, SHARED_LIMIT } from './planted';

/** What another tenant has, and how each route is asked for it. */

export type Things = Record<'bulk' | 'execution' | 'fanout', string> & Record<'batch' | 'callback', number>;

export const cancelAll = { handler: 'items', action: { do: 'cancel' } } as const;
const patchAll = { handler: 'items', action: { do: 'update', payloadPatch: { note: 'n' } } };
const mine = { id: 'acme/new', payload: { to: 'acme/x' } };
const ofNone = { id: 'of-none', payload: { to: 'a' } };

type Attacks = Record<string, readonly [path: string, body?: unknown][]>;
/** For each route how a thing of the other is named; `many`: several forms of it. */
export const attacks = ({ batch, execution, fanout, bulk, callback }: Things): Attacks => {
  const stolen = { id: 'rival/3', payload: { to: 'rival/x' } };
  const handlers = ['items', 'lane'];
  const ofHandler = (verb: string, body?: unknown): [string, unknown?][] =>
    handlers.map((name) => [`/v1/handlers/${name}${verb}`, body]);
  const ids = [`${fanout}:0:0`];
  const lane = `/v1/lanes/${encodeURIComponent('rival/x')}`;
  const target = `/targets/${encodeURIComponent('rival/x')}`;
  return {
    submitTasks: [
      ['/v1/handlers/items/tasks', { tasks: [stolen] }],
      ['/v1/handlers/items/tasks', { tasks: [mine, stolen] }],
      ['/v1/handlers/items/tasks', { tasks: [stolen], partial: true }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'rival/1' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'acme' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'ACME/1' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: ' acme/1' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'acme\u2215x' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, dependsOn: ['rival/1'] }] }],
      ['/v1/handlers/lane/tasks', { tasks: [{ ...mine, payload: { to: 'rival/x' } }] }],
      ['/v1/handlers/unbound/tasks', { tasks: [mine] }],
      ['/v1/handlers/narrow/tasks', { tasks: [stolen] }],
      ['/v1/handlers/narrow/tasks', { tasks: [ofNone, stolen], partial: true }],
    ],
    getTask: [
      ['/v1/tasks/rival%2F1?wait=60'],
      ['/v1/tasks/rival%2F1'],
      ['/v1/tasks/rival%2Fnone'],
      ['/v1/tasks/acme%2F..%2Frival%2F1'],
    ],
    explainTask: [['/v1/tasks/rival%2F1/explain'], ['/v1/tasks/rival%2Fl/explain']],
    cancelTasks: [
      ['/v1/tasks:cancel', { ids: ['rival/1'] }],
      ['/v1/tasks:cancel', { ids: ['acme/1', 'rival/2'] }],
    ],
    resolveTasks: [['/v1/tasks:resolve', { ids: ['rival/1'], as: 'failed' }]],
    getStatus: [['/v1/status']],
    getHandler: ofHandler(''),
    watchHandler: ofHandler('/events'),
    flushHandler: ofHandler('/flush', {}),
    pauseHandler: ofHandler('/pause', {}),
    resumeHandler: ofHandler('/resume', {}),
    redriveTasks: [
      ...ofHandler('/redrive', { only: 'failed' }),
      ['/v1/handlers/narrow/redrive', { only: 'failed', ids: ['rival/1'] }],
    ],
    completeBatch: ofHandler('/complete', { batchId: batch, status: 'expired' }),
    getHandlerPage: handlers.map((name) => [`/dashboard/handlers/${name}`]),
    getTargetPage: handlers.map((name) => [`/dashboard/handlers/${name}${target}`]),
    listTargets: ofHandler('/targets'),
    listTasks: [...ofHandler('/tasks?state=created'), ...ofHandler('/tasks?tag=t')],
    listAllTasks: [['/v1/tasks?state=failed'], ['/v1/tasks?tag=t']],
    setTarget: ofHandler(target, { lingerMs: 1 }),
    unsetTarget: ofHandler(target),
    listLimits: [['/v1/limits'], ['/v1/limits?handler=items']],
    getLimits: handlers.map((name) => [`/v1/limits/${name}`]),
    setLimits: handlers.map((name) => [`/v1/limits/${name}`, { concurrency: { perHandler: 1 } }]),
    removeLimits: handlers.map((name) => [`/v1/limits/${name}`]),
    getTargetLimits: handlers.map((name) => [`/v1/limits/${name}${target}`]),
    setTargetLimits: handlers.map((name) => [`/v1/limits/${name}${target}`, { concurrency: { perTarget: 1 } }]),
    removeTargetLimits: handlers.map((name) => [`/v1/limits/${name}${target}`]),
    listSharedLimits: [['/v1/shared-limits']],
    getSharedLimit: [[`/v1/shared-limits/${SHARED_LIMIT}`]],
    setSharedLimit: [[`/v1/shared-limits/${SHARED_LIMIT}`, { concurrency: 1 }]],
    removeSharedLimit: [[`/v1/shared-limits/${SHARED_LIMIT}`]],
    flushTarget: ofHandler(`${target}/flush`),
    pauseTarget: ofHandler(`${target}/pause`, {}),
    resumeTarget: ofHandler(`${target}/resume`),
    submitBatches: [
      ['/v1/handlers/lane/batches', { batches: [{ service: 'rival/x', items: [mine] }] }],
      ['/v1/handlers/lane/batches', { batches: [{ service: 'acme/x', items: [stolen] }] }],
      ['/v1/handlers/unbound/batches', { batches: [{ service: 'acme/x', items: [mine] }] }],
      ['/v1/handlers/lane/batches', { batches: [{ service: 'acme/x', items: [mine], dependsOn: [batch] }] }],
      ...['rival/x', 'rival/new', COMMON_LANE].map((service): [string, object] => [
        '/v1/handlers/unbound/batches',
        { batches: [{ service, items: [ofNone] }] },
      ]),
      ['/v1/handlers/unbound/batches', { batches: [{ service: 'new', items: [stolen] }] }],
    ],
    listBatches: ofHandler('/batches?state=open'),
    ...{ getBatch: [[`/v1/batches/${batch}`]], getBatchHalves: [[`/dashboard/batches/${batch}/halves`]] },
    getLaneBatch: [[`/v1/batches/${batch}/lane`]],
    getReceipts: [[`/v1/batches/${batch}/receipts`]],
    cancelBatch: [[`/v1/batches/${batch}/cancel`]],
    resolveBatch: [[`/v1/batches/${batch}/resolve`, { as: 'failed' }]],
    getLane: [[lane]],
    pauseLane: [[`${lane}/pause`, {}]],
    resumeLane: [[`${lane}/resume`]],
    setLaneWeight: [[`${lane}/weight`, { weight: 9 }]],
    skipHead: [[`${lane}/skip`]],
    fixHead: [[`${lane}/fix`, { as: 'applied' }]],
    reportLost: [[`${lane}/lost`, {}]],
    getQueuers: [['/v1/queuers']],
    setQueuers: [['/v1/queuers', { slots: 1 }]],
    pauseQueuers: [['/v1/queuers/pause', {}]],
    resumeQueuers: [['/v1/queuers/resume']],
    openFanout: [['/v1/fanouts', { id: fanout }]],
    getFanout: [[`/v1/fanouts/${fanout}?wait=60`], [`/v1/fanouts/${fanout}`]],
    watchFanout: [[`/v1/fanouts/${fanout}/events`]],
    addItems: [[`/v1/fanouts/${fanout}/items`, { items: 1 }]],
    sealFanout: [[`/v1/fanouts/${fanout}/seal`]],
    ackItems: [['/v1/items:ack', { items: ids }]],
    reopenItems: [['/v1/items:reopen', { items: ids }]],
    readItems: [['/v1/items:read', { items: ids }]],
    reapFanouts: [['/v1/fanouts:reap', {}]],
    getExecution: [[`/v1/executions/${execution}?wait=60`], [`/v1/executions/${execution}`]],
    getProgress: [[`/v1/executions/${execution}/progress`]],
    watchExecution: [[`/v1/executions/${execution}/events`]],
    getResults: [[`/v1/executions/${execution}/results`]],
    listWorkItems: [[`/v1/executions/${execution}/items`]],
    listChunks: [[`/v1/executions/${execution}/chunks`]],
    cancelExecution: [[`/v1/executions/${execution}/cancel`]],
    listNodes: [['/v1/nodes']],
    drainNode: [[`/v1/nodes/${NODE}/drain`, {}]],
    listPartitions: [['/v1/partitions']],
    movePartition: [[`/v1/partitions/${PLACED}/0/move`, { node: NODE }]],
    verify: [['/v1/verify']],
    listAudit: [['/v1/audit']],
    startBulk: [cancelAll, patchAll].map((body) => ['/v1/bulk', body]),
    dryRunBulk: [cancelAll, patchAll].map((body) => ['/v1/bulk:dry-run', body]),
    listBulk: [['/v1/bulk'], ['/v1/bulk?handler=items']],
    getBulk: [[`/v1/bulk/${bulk}`]],
    stopBulk: [[`/v1/bulk/${bulk}/stop`]],
    listCallbacks: [['/v1/callbacks'], ['/v1/callbacks?handler=items']],
    sendCallback: [[`/v1/callbacks/${callback}/send`]],
    sendCallbacks: [{}, { handler: 'items' }, { ids: [callback] }, { ids: [callback], handler: 'narrow' }].map(
      (body): [string, object] => ['/v1/callbacks:send', body],
    ),
    listOutcomes: [['/v1/outcomes'], ['/v1/outcomes?handler=items']],
    listErrors: [['/v1/errors'], ['/v1/errors?handler=items'], ['/v1/errors?handler=lane&limit=1']],
    metrics: [['/metrics']],
  };
};
/** They show a caller its part, or nothing of any caller; pages: test/dashboard/served.test.ts. */
export const OWN_PART = [
  ...['lookUpTasks', 'listLanes', 'execute', 'listExecutions', 'live', 'ready', 'openapi'],
  ...['getSession', 'beginSession', 'endSession', 'getOverview', 'getHour', 'listFanouts'],
];
