import { eventually } from '../helpers/eventually';
import { read } from '../project/project';
import type { Scrape } from './promql';
import { evaluate, scrapeOf } from './promql';
import { labelsOf, RULES, RULE_TESTS } from './ruleTimeline';
import type { IncidentWorld } from './world';
import { act, ends, ok, openIncidents } from './world';

/**
 * The Grafana board and the alert rules: each expression is evaluated on what real processes answer
 * at `/metrics`, after a bit of everything has happened.
 */

interface Panel {
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}
interface Variable {
  name: string;
  query: string | { query: string };
}
const board = JSON.parse(read('deploy/grafana/muster.json')) as {
  panels: Panel[];
  templating: { list: Variable[] };
};
const targets = board.panels.flatMap(({ title, targets: all = [] }) =>
  all.map((target) => ({ title, ...target, plain: plainOf(target.expr) })),
);

/** Returns the expression as Grafana sends it, with all handlers chosen. */
function plainOf(expr: string): string {
  return expr.replaceAll('$handler', '.*').replaceAll('$__rate_interval', '2m');
}

let world: IncidentWorld;
let before: Scrape;
let now: Scrape;
beforeAll(async () => {
  world = await openIncidents();
  await world.worker({ ZONE: 'eu' });
  before = await world.scrape();
  await happen();
  // Batches are counted from one reading of the store to the next.
  now = await eventually(async () => {
    const scrape = await world.scrape();
    return scrape.has('muster_batches_total') && scrape;
  });
}, 120_000);
afterAll(() => world.stop());

/** A success, a refusal, a retry and a failure; a lane, a partition and an execution. */
const happen = async (): Promise<void> => {
  await world.submit('orders', 'a', 'fine');
  await ends(world, 'fine', 'succeeded');
  world.answer('orders', () => ({ status: 429 }));
  await world.submit('orders', 'b', 'later');
  await world.submit('ledger', 'lane-1', 'in-lane');
  await world.submit('placed', 'here', 'on-a-node');
  await Promise.all([ends(world, 'in-lane', 'succeeded'), ends(world, 'on-a-node', 'succeeded')]);
  let calls = 0;
  world.answer('orders', (tasks) => {
    const status = calls++ === 0 ? 'retry' : 'failed';
    return { status: 200, body: tasks.map(({ id }) => ({ id, status, error: 'no such customer' })) };
  });
  await ends(world, 'later', 'failed');
  world.answer('orders', ok);
  await act(world, 'POST /v1/executions', { template: { function_id: 'none', method: 'run' }, arguments: [['a']] });
};

test('the board has a panel for each thing that an operator asks about', () => {
  const all = targets.map(({ expr }) => expr).join('\n');
  const asked = [
    ...['queued_tasks', 'oldest_queued_seconds', 'calls_total', 'task_ends_total', 'call_seconds_bucket'],
    ...['call_tasks_sum', 'paused_targets', 'handler_paused', 'undelivered_callbacks', 'leaders', 'connection_waits'],
  ];
  expect(asked.filter((name) => !all.includes(`muster_${name}`))).toEqual([]);
  expect(new Set(board.panels.map(({ title }) => title)).size).toBe(board.panels.length);
});

test.each(targets)('$title: $expr', ({ plain, legendFormat }) => {
  const found = evaluate(plain, before, now, { strict: true });
  expect(found.length).toBeGreaterThan(0);
  for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
    expect(found.map(({ labels }) => Object.keys(labels))).toContainEqual(expect.arrayContaining([label]));
});

test.each(RULES)('alert $alert: $expr', ({ expr }) => {
  for (const { value } of evaluate(expr, before, now, { strict: true })) expect(value).not.toBeNaN();
});

/** Not of a process: of whoever scrapes, or of what is in it. */
const ANY_VALUE = ['handler', 'instance'];

test.each(RULE_TESTS.flatMap((one) => one.input_series.map(({ series }) => series)))(
  'planted as it is: %s',
  (series) => {
    const planted = { ...labelsOf(series), instance: '' };
    const live = now.get(series.replace(/\{.*/, '')) ?? [];
    const shape = (labels: Record<string, string>): Record<string, string> =>
      Object.fromEntries(Object.entries(labels).map(([name, text]) => [name, ANY_VALUE.includes(name) ? '' : text]));
    expect(live.map(({ labels }) => shape(labels))).toContainEqual(shape(planted));
  },
);

test('values are those that the store and the calls have', () => {
  const valueOf = (title: string, labels: object): number | undefined => {
    const { plain } = targets.find((one) => one.title === title)!;
    return evaluate(plain, before, now).find((one) => JSON.stringify(one.labels) === JSON.stringify(labels))?.value;
  };
  expect(valueOf('Succeeded per second', { handler: 'orders' })).toBe(1); // an increase, as no rate is timed
  expect(valueOf('Tasks per call', { handler: 'orders' })).toBe(1);
  expect(valueOf('Workers per handler', { handler: 'ledger' })).toBe(1);
  expect(valueOf('Partitions', { handler: 'placed', state: 'held' })).toBe(2);
  expect(valueOf('Refused for now', { handler: 'orders' })).toBeGreaterThan(0);
  expect(valueOf('Handlers paused', {})).toBe(0);
});

test('variables ask for labels that there are', () => {
  const queries = board.templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query));
  const [[metric, label]] = queries.flatMap((query) => {
    const [, name, of] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? [];
    return name === undefined ? [] : [[name, of!] as const];
  }) as [readonly [string, string]];
  expect(now.get(metric)!.map(({ labels }) => Object.keys(labels))).toContainEqual([label, 'instance']);
});

test('an expression that names what there is not is seen', () => {
  const strictly = (expr: string) => (): unknown => evaluate(expr, before, now, { strict: true });
  expect(strictly('max(muster_no_such)')).toThrow('no metric muster_no_such');
  expect(strictly('max by (lane) (muster_queued_tasks)')).toThrow('no sample has the label lane');
  expect(strictly('max(muster_queued_tasks{lane="a"})')).toThrow('no sample has the label lane');
  expect(strictly('max(muster_queued_tasks) ** 2')).toThrow('muster_queued_tasks');
});

test('panels lie side by side, none over another', () => {
  const taken = new Set<string>();
  for (const { gridPos, title } of board.panels)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect([title, x < 24, taken.has(`${x}/${y}`)]).toEqual([title, true, false]);
        taken.add(`${x}/${y}`);
      }
});

test('the evaluator divides, adds and subtracts as Prometheus does', () => {
  const scrape = scrapeOf('a{k="x"} 6\na{k="y"} 1\nb{k="x"} 3\nb{k="z"} 3\n');
  const of = (expr: string): unknown => evaluate(expr, scrape, scrape).map(({ labels, value }) => [labels['k'], value]);
  expect(of('a / b')).toEqual([['x', 2]]); // only labels that both have
  expect(of('1 - a')).toEqual([
    ['x', -5],
    ['y', 0],
  ]);
  expect(of('sum(a) + sum(b) * 2')).toEqual([[undefined, 19]]);
});
