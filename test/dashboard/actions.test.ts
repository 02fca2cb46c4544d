import { PREVIEWS } from '../../workers/api/dryRuns/previews';
import { openApi } from '../../workers/api/openapi';
import type { Route } from '../../workers/api/route';
import { bodyOf as contractOf } from '../../workers/api/route';
import { allRoutes } from '../../workers/api/routes';
import { bodyOf, previewBodyOf } from '../../workers/dashboard/model/actions';
import { limitActions, sharedLimitActions } from '../../workers/dashboard/model/limitActions';
import { choicesOf, isMoving, movesOf } from '../../workers/dashboard/model/moves';
import { requestOf } from '../../workers/dashboard/model/operations';
import { apiPath } from '../../workers/dashboard/model/place';
import type { NodeView, PartitionView } from '../../workflows/contracts/node';
import { climbs } from '../../workflows/planning/urlPath';
import { ALL_OPERATIONS, SAMPLES } from './samples';

/** What each action of the dashboard sends, held against the API's routes and their document. */

const unused = (): never => {
  throw new Error('not called');
};
const routes = allRoutes({ stopping: new AbortController().signal, metrics: unused, document: unused });
const document = openApi(routes, '0') as { paths: Record<string, Record<string, { operationId: string }>> };
const routeOf = (operation: string): Route => routes.find(({ id }) => id === operation)!;

test('each operation has the method and the path of the document', () => {
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [operationId, method.toUpperCase(), path]),
  );
  const filled = (path: string): string => path.replace(/\{(\w+)\}/g, '1');
  for (const operation of ALL_OPERATIONS) {
    // A proxy gives every name the same value.
    const { method, path } = requestOf(operation, new Proxy({}, { get: () => 1 }) as never);
    const [, ofDocument, form] = documented.find(([id]) => id === operation) ?? [];
    expect([operation, method, path]).toEqual([operation, ofDocument, filled(form ?? '')]);
  }
});

test('each operation has a sample, which a new one needs', () => {
  // The dry run of bulk actions is asked for by those.
  expect([...new Set(SAMPLES.map(([{ operation }]) => operation)), 'dryRunBulk'].sort()).toEqual(
    [...ALL_OPERATIONS].sort(),
  );
});

const valueOf = (text: string): unknown => (/^\d+$/.test(text) ? Number(text) : text);

/** Reads the parameters back out of a path, as the API does: those of digits are numbers. */
const paramsIn = (path: string, form: string): Record<string, unknown> => {
  const names = [...form.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const found = new RegExp(`^${form.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(path);
  return Object.fromEntries(names.map((name, i) => [name, valueOf(decodeURIComponent(found![i + 1]!))]));
};

const cases = SAMPLES.map(
  ([action, given, body]) => [action.operation, action.question, { action, given, body }] as const,
);

test.each(cases)('%s: %s', (operation, _, { action, given, body }) => {
  const { params, scope, path } = routeOf(operation);
  const sent = bodyOf(action, given);
  expect(sent).toEqual(body);
  const asked = paramsIn(action.path, path);
  expect(params?.safeParse(asked).error).toBeUndefined();
  expect(contractOf(routeOf(operation))!.schema.safeParse(sent).error).toBeUndefined();
  // A dry run is asked for with what stands in the fields first.
  expect(contractOf(routeOf(operation))!.schema.safeParse(previewBodyOf(action)).error).toBeUndefined();
  expect(Object.hasOwn(PREVIEWS, operation)).toBe(true);
  // What a token may not do is not offered to it.
  expect([scope, 'admin']).toContain(action.scope);
});

test('names go into a path as they are, whatever they have', () => {
  const { path } = requestOf('pauseTarget', { handler: 'orders/eu', target: 'a b:c?' });
  expect(path).toBe('/v1/handlers/orders%2Feu/targets/a%20b%3Ac%3F/pause');
});

test.each([
  ['/v1/tasks/a', false],
  ['/v1/tasks/..?x=1', true],
  [apiPath(['v1', 'handlers', 'h', 'targets', '..', 'pause']), true],
  [apiPath(['v1', 'tasks', '.']), true],
  [apiPath(['v1', 'tasks', '../x'], { at: '/../' }), false],
  [apiPath(['v1', 'tasks', '...']), false],
  ['/v1/tasks/%2E%2e', true],
])('%s: whether the browser would ask for another path: %s', (path, other) => {
  expect(climbs(path)).toBe(other);
  expect(new URL(path, 'http://a').pathname !== path.replace(/\?.*/, '')).toBe(other);
});

test('limits are set by admins, and removed only where some are set', () => {
  const labels = (areSet: boolean): string[] =>
    [...limitActions('o', null, areSet), ...limitActions('o', 't', areSet), ...sharedLimitActions('s', areSet)].map(
      ({ label, scope }) => `${label} ${scope}`,
    );
  expect(labels(false)).toEqual(['Set a limit admin', 'Set a limit admin', 'Set shared limit admin']);
  expect(labels(true).filter((label) => label.startsWith('Remove'))).toHaveLength(3);
  // A target has no limits of the whole handler.
  const choices = limitActions('o', 't', false)[0]!.asks![0]!.choices!.map(([value]) => value);
  expect(choices).toEqual(['calls', 'items', 'weight', 'concurrency.perTarget', 'maxWeightInFlight.perTarget']);
  // What is no number is left for the API to refuse, which names the field.
  const [set] = limitActions('o', null, false);
  expect(bodyOf(set!, { limit: 'calls', value: 'many', seconds: 'x', forMs: '' })).toEqual({
    rate: { limit: 'many', perMs: 'x', unit: 'calls' },
  });
  // An empty field is no way to remove a limit, nor does it stand for 0.
  for (const limit of ['calls', 'concurrency.perHandler']) {
    const sent = bodyOf(set!, { limit, value: '', seconds: '1', forMs: '' });
    expect(JSON.stringify(sent)).not.toMatch(/null|:0/);
    expect(contractOf(routeOf('setLimits'))!.schema.safeParse(sent).success).toBe(false);
  }
  expect(set!.asks!.find(({ name }) => name === 'value')!.isNeeded).toBe(true);
});

describe('moves', () => {
  const partition = (no: number, more: Partial<PartitionView>): PartitionView =>
    ({ no, holder: 'a', wantedBy: null, pinnedTo: null, lastMove: null, ...more }) as PartitionView;
  const moved = (minute: number): PartitionView['lastMove'] => ({ at: `2030-01-31T12:0${minute}:00.000Z`, why: null });

  test('those that move come first, then pinned ones, then the newest; at most ten', () => {
    const all = [
      partition(0, {}),
      partition(1, { lastMove: moved(1) }),
      partition(2, { lastMove: moved(2) }),
      partition(3, { pinnedTo: 'a' }),
      partition(4, { wantedBy: 'b' }),
      partition(5, { wantedBy: 'a' }),
    ];
    expect(movesOf(all).map(({ no }) => no)).toEqual([4, 3, 2, 1]);
    expect(all.filter(isMoving).map(({ no }) => no)).toEqual([4]);
    const many = Array.from({ length: 30 }, (_, no) => partition(no, { lastMove: moved(1) }));
    expect(movesOf(many)).toHaveLength(10);
  });

  test('only nodes that live, stay and have the handler can be chosen', () => {
    const node = (id: string, more: Partial<NodeView>): NodeView =>
      ({ id, name: null, alive: true, draining: false, handlers: ['fleet'], ...more }) as NodeView;
    const nodes = [
      node('a', {}),
      node('b', { name: 'blue' }),
      node('c', { alive: false }),
      node('d', { draining: true }),
      node('e', { handlers: ['mail'] }),
    ];
    expect(choicesOf(nodes, 'fleet')).toEqual([
      ['a', 'a'],
      ['b', 'blue (b)'],
    ]);
  });
});
