import type { DashboardWorld } from './world';

/** Places of the dashboard: where each is, what it is called, what must be on it. */
export const placesOf = (world: DashboardWorld): [name: string, place: string, title: string, shows: string[]][] => [
  [
    'overview',
    '#/',
    'Overview',
    ['mail is paused: 150 tasks waiting', 'the SMTP host is being replaced', 'charge: 6 tasks parked'],
  ],
  [
    'handler',
    '#/handlers/index-city',
    'index-city',
    ['Limits and use', 'Leaders', 'Targets', 'succeeded', 'Calls', 'p50 '],
  ],
  ['batches', '#/handlers/index-city/batches', 'Batches of index-city', [String(world.batch), 'linger', 'dissolved']],
  ['target', '#/handlers/thumbnails/targets/eu-1', 'eu-1', ['37 of 100', 'of 10 min left', 'image-1']],
  ['tasks', '#/handlers/index-city/tasks?state=dead', 'Tasks of index-city', ['dead-4', 'HTTP 502 from the index']],
  ['task', '#/tasks/dead-1', 'dead-1', ['HTTP 502', 'Payload', 'Timeline', '"to": "se"', 'Redrive']],
  [
    'labelled',
    '#/tasks/letter-1',
    'letter-1',
    ['newsletter', 'Metadata', '"campaign": "spring"', 'It expires at 2099-01-01', 'expires, if it still waits then'],
  ],
  ['tagged', '#/handlers/mail/tasks?tag=newsletter', 'Tasks of mail', ['letter-1', 'any']],
  ['by time', '#/handlers/mail/tasks?state=created&order=newest', 'Tasks of mail', ['letter-30', 'newest first']],
  [
    'errors',
    '#/errors',
    'Errors',
    ['no such country', 'HTTP 502 from the index', 'muster bulk redrive index-city --state dead', 'dead-4'],
  ],
  ['batch', `#/batches/${world.batch}`, `Batch ${world.batch}`, ['Members', 'city-', 'idempotency key']],
  ['callbacks', '#/callbacks', 'Undelivered callbacks', ['410', 'given-up', '/orders/ended', 'Send again']],
  ['bulk-list', '#/bulk', 'Bulk actions', ['update waiting tasks of target example.org of mail', '30 of 30', 'done']],
  [
    'bulk',
    `#/bulk/${world.bulk}`,
    `Bulk action ${world.bulk}`,
    ['update waiting tasks of target example.org of mail as {"priority":5}', '30 of 30', 'by client'],
  ],
  ['lanes', '#/lanes', 'Lanes', ['po-17', 'halted']],
  ['lane', '#/lanes/po-17', 'po-17', ['Batches in order', 'Halted by batch']],
  ['fanouts', '#/fanouts', 'Fan-outs', ['import-17', '250 of 400']],
  ['fanout', `#/fanouts/${world.fanout}`, world.fanout, ['250 of 400', 'import-17']],
  ['executions', '#/executions', 'Executions', ['resize/run']],
  ['execution', `#/executions/${world.execution}`, world.execution, ['a.png', 'Items']],
  ['nodes', '#/nodes', 'Nodes', ['alive', 'Partitions of fleet']],
  ['audit', '#/audit', 'Audit', ['pause', 'handler mail']],
  ['nowhere', '#/no/such/page', 'No such page', ['See the overview.']],
];
