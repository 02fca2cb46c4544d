/** Of none of the tasks that attacks add: each bulk action would visit all of these. */
export const FEW = 'few';
const BULK = {
  handler: 'items',
  where: {
    ...{ state: 'created', target: 'a', tag: FEW, error: 'e', errorCode: '503', errorGroup: 'HTTP <n>' },
    ...{ since: '2000-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z' },
  },
  action: { do: 'update', priority: 5, weight: 1, notBefore: '2999-01-01T00:00:00Z' },
  limit: 5,
};
const PATCH = { ...BULK, action: { do: 'update', payloadPatch: { note: 'n', more: [{ a: 1 }] } } };

/**
 * Returns for each operation with a body one that is accepted, or refused for nothing but what it
 * names.
 */
export const bodies = (fanout: string): Record<string, readonly [path: string, body: object]> => {
  const task = { id: 't', payload: { to: 'a', note: 'n' } };
  return {
    submitTasks: [
      '/v1/handlers/items/tasks',
      {
        tasks: [
          {
            ...task,
            notBefore: '2100-01-01T00:00:00Z',
            priority: 1,
            callback: { url: 'https://example.com/x' },
            dependsOn: ['before'],
            onDependencyFailure: 'run',
            tags: ['t'],
            metadata: { m: 'n' },
          },
        ],
        partial: false,
      },
    ],
    lookUpTasks: ['/v1/tasks:lookup', { ids: ['t', 'u'] }],
    cancelTasks: ['/v1/tasks:cancel', { ids: ['t'] }],
    resolveTasks: ['/v1/tasks:resolve', { ids: ['t'], as: 'succeeded', result: { a: 'b' } }],
    flushHandler: ['/v1/handlers/items/flush', { target: 'a' }],
    pauseHandler: ['/v1/handlers/items/pause', { target: 'a', reason: 'r' }],
    resumeHandler: ['/v1/handlers/items/resume', { target: 'a' }],
    redriveTasks: ['/v1/handlers/items/redrive', { only: 'failed', target: 'a' }],
    sendCallbacks: ['/v1/callbacks:send', { handler: 'items', state: 'retrying', limit: 5 }],
    completeBatch: [
      '/v1/handlers/items/complete',
      { reference: 'r', results: [{ id: 't', status: 'failed', error: 'e', result: { a: 'b' } }] },
    ],
    setTarget: ['/v1/handlers/items/targets/a', { maxItems: 5, lingerMs: 5 }],
    startBulk: ['/v1/bulk', BULK],
    dryRunBulk: ['/v1/bulk:dry-run', PATCH],
    setLimits: ['/v1/limits/items', { rate: { limit: 5, perMs: 9, unit: 'calls' }, concurrency: { perHandler: 5 } }],
    setTargetLimits: ['/v1/limits/items/targets/a', { concurrency: { perTarget: 5 }, until: '2999-01-01T00:00:00Z' }],
    setSharedLimit: [
      '/v1/shared-limits/k',
      { rate: [{ limit: 5, perMs: 9, unit: 'calls' }], concurrency: 1, forMs: 9 },
    ],
    pauseTarget: ['/v1/handlers/items/targets/a/pause', { reason: 'r' }],
    submitBatches: [
      '/v1/handlers/lane/batches',
      {
        batches: [
          {
            service: 's',
            items: [{ id: 'l', payload: { to: 's' } }],
            reads: ['k'],
            writes: ['k'],
            dependsOn: [1],
            key: 'k',
          },
        ],
      },
    ],
    resolveBatch: ['/v1/batches/1/resolve', { as: 'failed', error: 'e' }],
    pauseLane: ['/v1/lanes/s/pause', { reason: 'r' }],
    setLaneWeight: ['/v1/lanes/s/weight', { weight: 2 }],
    skipHead: ['/v1/lanes/s/skip', { batch: 1 }],
    fixHead: ['/v1/lanes/s/fix', { items: [{ id: 'f', payload: { to: 's' } }] }],
    reportLost: ['/v1/lanes/s/lost', { afterReference: 'r', reason: 'r' }],
    setQueuers: ['/v1/queuers', { slots: 4, strategy: 'single', depth: 2 }],
    pauseQueuers: ['/v1/queuers/pause', { reason: 'r' }],
    openFanout: ['/v1/fanouts', { userKey: 'u', segmentSize: 8, notify: { url: 'https://example.com/x' } }],
    addItems: [`/v1/fanouts/${fanout}/items`, { items: 1, key: 'k' }],
    ackItems: ['/v1/items:ack', { items: [`${fanout}:0:0`] }],
    reopenItems: ['/v1/items:reopen', { items: [`${fanout}:0:0`] }],
    readItems: ['/v1/items:read', { items: [`${fanout}:0:0`] }],
    reapFanouts: ['/v1/fanouts:reap', { openIdleMs: 1_000_000 }],
    execute: [
      '/v1/executions',
      {
        template: {
          function_id: 'f',
          method: 'm',
          config: { number_of_nodes: 1, attributes: { a: 'b' }, env_vars: { A: 'b' } },
        },
        arguments: [['a', 'b']],
        topic: 't',
        max_attempts: 2,
      },
    ],
    drainNode: ['/v1/nodes/n/drain', { undo: true }],
    movePartition: ['/v1/partitions/items/0/move', { node: 'n' }],
  };
};
