import type { Overview, OverviewHandler } from '../../workflows/contracts/dashboard';
import type { BulkVerb } from '../../workflows/planning/bulk/actions';
import { STATES_OF_ACTION } from '../../workflows/planning/bulk/actions';
import type { TaskState } from '../../workflows/planning/states';
import { cancelTasks, flush, redrive } from '../../workers/dashboard/model/actions';
import { actionsOnAll, actionsOnErrors, describeBulk } from '../../workers/dashboard/model/bulkActions';
import { findingsOf, standingOf } from '../../workers/dashboard/model/findings';
import { bytes, counted, duration, json, number, relative } from '../../workers/dashboard/model/format';
import { apiPath, hrefOf, parsePlace } from '../../workers/dashboard/model/place';

/** What the dashboard decides, without a browser. */

const calm: OverviewHandler = {
  handler: 'orders',
  paused: null,
  holdUntil: null,
  limitsSet: [],
  sharesLimit: null,
  counts: { created: 0, batched: 0, 'in-progress': 0, unknown: 0, succeeded: 10, failed: 0, dead: 0, cancelled: 0 },
  accepted: 10,
  estimated: false,
  identityHolds: null,
  held: 0,
  oldestQueuedMs: null,
  inFlightCalls: 0,
  served: true,
  stalled: [],
  partitions: null,
  leaders: { n: 4, unanswered: 0, oldestUnansweredMs: null },
  limits: {
    maxItems: 100,
    maxBytes: null,
    maxWeight: null,
    minItems: 1,
    lingerMs: 1_000,
    quietMs: null,
    perTarget: 4,
    perHandler: 32,
    slots: 0,
    allowed: null,
    maxAttemptMs: 30_000,
    mostQueued: null,
  },
  retrying: null,
  pausedTargets: 0,
};
const nodes = { alive: 1, silent: 0, drained: 0, versions: ['1.0.0'] };
const at = '2030-01-31T12:00:00.000Z';
const overviewOf = (more: Partial<OverviewHandler>, rest: Partial<Overview> = {}): Overview => ({
  at,
  handlers: [{ ...calm, ...more }],
  nodes,
  queuers: [],
  beside: null,
  ...rest,
});
const found = (more: Partial<OverviewHandler>, rest: Partial<Overview> = {}): string[] =>
  findingsOf(overviewOf(more, rest)).map(({ level, what, why, action }) =>
    [level, what, why, ...(action === undefined ? [] : [action.label])].join(' | '),
  );
const waiting = { counts: { ...calm.counts, created: 7 } };

describe('findings', () => {
  test('none where all is well, also while tasks wait for their linger', () => {
    expect(found({})).toEqual([]);
    expect(found({ ...waiting, oldestQueuedMs: 30_000 })).toEqual([]);
    expect(found({ served: false })).toEqual([]);
  });

  test.each<[string, Partial<OverviewHandler>, string]>([
    [
      'paused',
      { ...waiting, paused: { since: at, reason: 'moving' } },
      'bad | orders is paused: 7 tasks waiting | Reason: moving. | Resume',
    ],
    [
      'paused targets',
      { ...waiting, pausedTargets: 2 },
      'warn | orders: 2 targets paused | An operator paused them one by one',
    ],
    [
      'a full backlog',
      { ...waiting, limits: { ...calm.limits, mostQueued: 7 } },
      'bad | orders takes no more tasks: 7 wait, and 7 may | Its backlog is full',
    ],
    [
      'tried again',
      { ...waiting, retrying: { tasks: 3, error: 'socket hang up' } },
      'warn | orders: 3 tasks to be tried again | The last error: socket hang up.',
    ],
    ['not served', { ...waiting, served: false }, 'bad | orders has no worker: 7 tasks waiting | No live worker has'],
    [
      'stalled',
      { stalled: [{ kind: 'leader', name: '2', ms: 65_000, workflowId: 'w', runId: null }] },
      'bad | orders: 1 workflow stalled | The leader 2 has made no progress for 1 min 5 s.',
    ],
    [
      'results that do not come',
      {
        stalled: [61_000, 65_000].map((ms) => ({ kind: 'read', name: `${ms}`, ms, workflowId: 'w', runId: null })),
      },
      'warn | orders: the results of 2 batches do not come | The read of those of batch 65000 has brought none',
    ],
    [
      'partitions without a node',
      { ...waiting, partitions: { n: 8, held: 5 } },
      'warn | orders: 3 of 8 partitions have no node | ',
    ],
    [
      'late, and held',
      { ...waiting, oldestQueuedMs: 120_000, holdUntil: at },
      'warn | orders is behind: the oldest task is 1 min 59 s late | The downstream asked to wait.',
    ],
    [
      'late, at its limit',
      { ...waiting, oldestQueuedMs: 120_000, limits: { ...calm.limits, slots: 32 } },
      'warn | orders is behind: the oldest task is 1 min 59 s late | All 32 calls',
    ],
    [
      'late, at what back pressure left',
      { ...waiting, oldestQueuedMs: 120_000, limits: { ...calm.limits, slots: 3, allowed: 3 } },
      'All 3 calls that it may make at once are in flight, fewer than configured: back pressure.',
    ],
    [
      'late for another reason',
      { ...waiting, oldestQueuedMs: 120_000 },
      'warn | orders is behind: the oldest task is 1 min 59 s late | Some target is paused',
    ],
    ['parked', { counts: { ...calm.counts, unknown: 1 } }, 'warn | orders: 1 task parked | '],
    ['dead', { counts: { ...calm.counts, dead: 2_000 } }, 'warn | orders: 2,000 tasks dead | All attempts'],
    ['failed', { counts: { ...calm.counts, failed: 2 } }, 'warn | orders: 2 tasks failed | The downstream refused'],
  ])('%s', (_, more, text) => {
    expect(found(more)).toEqual([expect.stringContaining(text)]);
  });

  test('no worker, and lanes that are paused or halted; the worst come first', () => {
    const queuer = {
      id: 0,
      state: 'idle',
      epoch: 1,
      slots: 8,
      taken: 0,
      strategy: 'single',
      depth: 3,
      grants: 0,
    } as const;
    const lanes = { lanes: 9, ready: 0, held: 0, reduced: [] };
    const queuers = [{ ...queuer, ...lanes, paused: true, reason: 'audit', halted: 2, pausedLanes: 1 }];
    expect(
      found({ counts: { ...calm.counts, dead: 1 } }, { nodes: { ...nodes, alive: 0 }, queuers }).map((one) =>
        one.split(' | ').slice(0, 2).join(' '),
      ),
    ).toEqual([
      'bad No worker runs',
      'bad All 9 lanes are paused',
      'bad 2 lanes halted',
      'warn orders: 1 task dead',
      'warn 1 lane paused',
    ]);
  });

  const beside = { executionsWithoutNodes: 0, retriedCallbacks: 0, lostCallbacks: 0, clockSkewMs: 0 };

  test('a transaction that has been open for an hour', () => {
    const of = (seconds: number | null, transactions: number): string[] => {
      const oldestTransaction = { holder: 'session 7 of app', seconds, transactions, remedy: 'End it.' };
      return found({}, { beside: { ...beside, oldestTransaction } });
    };
    expect([of(3_599, 9), of(null, 9)]).toEqual([[], []]);
    expect(of(7_200, 9)).toEqual([expect.stringMatching(/^warn \| .* open for 2 h: .* \| Of session 7 of app\./)]);
    expect(of(null, 2_000_000)).toEqual([expect.stringContaining('open for 2,000,000 transactions: ')]);
  });

  test('a handler has one word', () => {
    const one = { workflowId: 'w', runId: null, name: '7', ms: 61_000 };
    const word = (more: Partial<OverviewHandler>): string =>
      standingOf({ ...calm, ...more }, Date.parse(at) - 5_000).word;
    expect([word({}), word(waiting)]).toEqual(['idle', 'running']);
    expect(word({ ...waiting, holdUntil: at })).toBe('held');
    expect(word({ holdUntil: at, paused: { since: at, reason: null } })).toBe('paused');
    expect(word({ served: false })).toBe('not served');
    const stalledAt = (kind: 'monitor' | 'read') => word({ ...waiting, stalled: [{ ...one, kind }] });
    expect([stalledAt('monitor'), stalledAt('read')]).toEqual(['stalled', 'running']);
    expect(standingOf({ ...calm, holdUntil: at }, Date.parse(at) - 5_000).why).toBe('back pressure, 5 s left');
  });
});

describe('addresses', () => {
  test.each([
    [['handlers', 'a/b', 'tasks'], { state: 'dead', error: 'x & y?' }],
    [['tasks', 'acme/ö #1?'], {}],
    [[], {}],
  ])('%j %j is read as it was written', (path, query) => {
    expect(parsePlace(hrefOf(path, query))).toEqual({ path, query });
  });

  test('what is left out is not in it; a broken one is still read', () => {
    expect(hrefOf(['lanes'], { after: undefined, state: '', limit: 0 })).toBe('#/lanes?limit=0');
    expect(apiPath(['v1', 'tasks', 'a/b'], { wait: null })).toBe('/v1/tasks/a%2Fb');
    expect(parsePlace('#/tasks/%zz')).toEqual({ path: ['tasks', '%zz'], query: {} });
  });
});

describe('texts', () => {
  test.each([
    [0, '0 s'],
    [12, '12 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [65_000, '1 min 5 s'],
    [12 * 60_000, '12 min'],
    [7_500_000, '2 h 5 min'],
    [-2_000, '2 s'],
    [3 * 86_400_000, '3 d'],
  ])('%d ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  test('times, numbers, bytes and JSON', () => {
    expect([relative(0, 5_000), relative(5_000, 0), relative(0, 10)]).toEqual(['5 s ago', 'in 5 s', 'now']);
    expect([number(1_234_567), number(1.25), counted(1, 'task'), counted(2, 'task')]).toEqual([
      '1,234,567',
      '1.3',
      '1 task',
      '2 tasks',
    ]);
    expect([bytes(12), bytes(1_500), bytes(4_000_000)]).toEqual(['12 B', '1.5 kB', '4 MB']);
    expect(json({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect(json('x'.repeat(200_000))).toMatch(/… 100,002 more characters$/);
  });

  test('a question says how many, and which', () => {
    expect(flush('orders', null, 1).question).toBe('Flush handler orders: 1 waiting task?');
    expect(redrive('orders', 'dead', ['a', 'b', 'c', 'd', 'e', 'f', 'g']).question).toBe(
      'Redrive 7 dead tasks of handler orders: a, b, c, d, e and 2 more?',
    );
    expect(redrive('orders', 'dead', ['a']).body).toEqual({ only: 'dead', ids: ['a'] });
    expect(cancelTasks(['a']).path).toBe('/v1/tasks:cancel');
  });
});

describe('bulk actions', () => {
  const labels = (state: TaskState): string[] => actionsOnAll('orders', { state }).map(({ label }) => label);

  test.each<[TaskState, string[]]>([
    ['created', ['Send all now', 'Cancel all']],
    ['batched', []],
    ['in-progress', []],
    ['unknown', ['Redrive all', 'All succeeded', 'All failed']],
    ['succeeded', ['Redrive all']],
    ['failed', ['Redrive all']],
    ['dead', ['Redrive all']],
    ['cancelled', []],
  ])('tasks that are %s offer %j, as the store allows', (state, offered) => {
    expect(labels(state)).toEqual(offered);
    for (const { body } of actionsOnAll('orders', { state }))
      expect(STATES_OF_ACTION[(body as { action: { do: BulkVerb } }).action.do]).toContain(state);
  });

  test('the sentence names the one task that is meant, and cuts a long patch', () => {
    const action = { do: 'update' as const, payloadPatch: 'x'.repeat(60_000) };
    const said = describeBulk({ handler: 'orders', where: { state: 'created', id: 'a' }, action });
    expect(said).toMatch(/^update waiting tasks of orders with the id “a” as \{"payloadPatch":"x+/);
    expect(said.length).toBeLessThan(500);
  });

  test('the question names the filter, and the body has it', () => {
    const [redriven] = actionsOnAll('orders', { state: 'dead', target: 'se', error: '502' });
    expect(redriven!.question).toBe('Redrive all dead tasks of target se of orders whose error contains “502”?');
    const where = { state: 'dead', target: 'se', error: '502' };
    expect(redriven!.body).toEqual({ handler: 'orders', where, action: { do: 'redrive' } });
    expect(redriven!.goesTo!({ id: 'b-1' })).toEqual({ href: '#/bulk/b-1', text: 'See how far it is' });
  });

  test.each([
    [{ count: 0, complete: true, sample: [] }, 0, 'No task matches now.'],
    [{ count: 1, complete: true, sample: [{ id: 'a' }] }, 1, '1 task matches now: a.'],
    [
      { count: 2_000, complete: false, sample: ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id })) },
      2_000,
      'At least 2,000 tasks match now: a, b, c, d, e and 1,995 more.',
    ],
  ])('a dry run that found %j', (answer, n, text) => {
    const [action] = actionsOnAll('orders', { state: 'dead' });
    expect(action!.dryRun!.found(answer)).toEqual({ n, text });
  });

  test('a group of errors is redriven, or tried at once where it waits; callbacks have their own page', () => {
    const of = (...given: Parameters<typeof actionsOnErrors>) =>
      actionsOnErrors(...given).map(({ label, body }) => [label, body]);
    const where = (state: string) => ({ state, errorGroup: 'HTTP 503' });
    expect(of('orders', 'dead', 'HTTP 503')).toEqual([
      ['Redrive all', { handler: 'orders', where: where('dead'), action: { do: 'redrive' } }],
    ]);
    expect(of('orders', 'retrying', 'HTTP 503')).toEqual([
      ['Send all now', { handler: 'orders', where: where('created'), action: { do: 'update', notBefore: null } }],
    ]);
    expect([...of(null, 'callback', 'x'), ...of('orders', 'callback', 'x')]).toEqual([]);
  });
});
