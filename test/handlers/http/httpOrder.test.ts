import { httpHandler } from '../../../handlers';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { faultsIn, problemsIn } from '../build';
import type { Downstream } from '../downstream';
import { json, startDownstream } from '../downstream';
import { httpConfig } from './httpConfig';

/**
 * JSON handlers that keep order (H10, C25): service, reads and writes by paths and templates, and
 * their tasks reach a lane.
 */

const make = (changes: Record<string, unknown>) => httpHandler(httpConfig('https://api.example.com', changes));
const problems = (changes: Record<string, unknown>): string[] => problemsIn(() => make(changes));
const payload = { to: 'eu', n: 1, order: { id: 17 }, sku: ['a', 'b'], shop: 'x' };

describe('service, reads and writes (H10)', () => {
  test('a path, a template, a constant; an array stands for its members', () => {
    expect(make({ service: 'order.id' }).service!('eu', payload)).toBe('17');
    expect(make({ service: 'po-{{payload.order.id}}' }).service!('eu', payload)).toBe('po-17');
    expect(make({ service: { constant: 'all' } }).service!('eu', payload)).toBe('all');
    const { reads, writes, ordered, lane } = make({
      reads: ['sku', 'shop'],
      writes: ['price/{{payload.shop}}', 'sku.0', '{{payload.gone?}}'],
      lane: { approach: 'parallel' },
    });
    expect(reads!(payload)).toEqual(['a', 'b', 'x']);
    expect(writes!(payload)).toEqual(['price/x', 'a']);
    expect([ordered, lane.approach]).toEqual([true, 'parallel']);
    expect(make({}).ordered).toBe(false);
  });

  test('a handler with lanes shares no limit with others', () => {
    const sharesLimit = { name: 'key', concurrency: 2 };
    expect(problems({ sharesLimit })).toEqual([]);
    expect(problems({ sharesLimit, service: 'order.id' })).toEqual([
      expect.stringMatching(/^sharesLimit: expected none beside service, got/),
    ]);
    expect(problems({ sharesLimit, lane: {} })).toEqual([
      expect.stringMatching(/^sharesLimit: expected none beside lane, got/),
    ]);
  });

  test('a payload without them is refused at submit, as one without its target', () => {
    const handler = make({ service: 'order.id', writes: ['sku', 'po-{{payload.shop}}'] });
    expect(faultsIn(handler, payload)).toEqual([]);
    const said = (value: unknown): string => faultsIn(handler, value).join('\n');
    expect(said({ ...payload, order: {} })).toMatch(/payload order.id: expected text or a number/);
    expect(said({ ...payload, sku: [1, {}] })).toMatch(/payload sku: expected text.*got \{\}/);
    expect(said({ ...payload, shop: undefined })).toMatch(/expected a value for \{\{payload.shop\}\}/);
  });

  test('every problem of them at load, at its path', () => {
    const found = problems({
      service: 'a..b',
      reads: ['x[0]', '{{paylod.x}}'],
      writes: 'sku',
      lane: { approach: 'fast' },
    });
    for (const start of [
      'service: expected names with single dots',
      'reads.0: expected array places between dots',
      'reads.1: expected one of {{payload}}',
      'writes: expected an array of paths',
      "lane.approach: expected 'unconstrained'",
    ])
      expect(found.filter((problem) => problem.startsWith(start))).toHaveLength(1);
    const schema = { type: 'object', properties: { to: {}, n: {}, sku: {} } };
    expect(problems({ schema, service: 'skuu' })).toEqual([expect.stringMatching(/^service: .*did you mean "sku"/)]);
    expect(problems({ distinctBy: 'n', lane: { approach: 'unconstrained' } })).toEqual([
      expect.stringMatching(/^distinctBy: expected a lane/),
    ]);
  });
});

describe('through Muster', () => {
  let downstream: Downstream;
  let muster: TestMuster;
  beforeAll(async () => {
    downstream = await startDownstream();
    downstream.answer = (response, { body }) => {
      const items = JSON.parse(body) as { id: string }[];
      json(200, { results: items.map(({ id }) => ({ id, status: 200 })) })(
        response,
        undefined as never,
        undefined as never,
      );
    };
    const handler = httpHandler(
      httpConfig(downstream.url, {
        target: 'to',
        service: 'po-{{payload.order}}',
        writes: ['key'],
        lane: { approach: 'serial' },
        linger: { lingerMs: 20 },
      }),
    );
    muster = await startMuster([handler]);
  });
  afterAll(async () => {
    await muster.stop();
    await downstream.close();
  });

  test('submit to a JSON handler that names a service reaches its lane, in order', async () => {
    const { client } = muster;
    // Two targets of one order: a batch ends where the target changes.
    const tasks = ['a', 'a', 'b', 'a'].map((to, n) => ({ id: `t-${n}`, payload: { to, n, order: 7, key: `k-${n}` } }));
    await client.submit('orders', tasks);
    await client.waitFor(
      tasks.map(({ id }) => id),
      { timeoutMs: 60_000 },
    );
    expect(downstream.seen.map(({ body }) => (JSON.parse(body) as { id: string }[]).map(({ id }) => id))).toEqual([
      ['t-0', 't-1'],
      ['t-2'],
      ['t-3'],
    ]);
    expect(await client.lane('po-7')).toMatchObject({ state: 'empty', granted: 3, approach: 'serial' });
    const { rows } = await muster.database.pool.query<{ writes: string[] }>(
      'select writes from lane_batch order by seq',
    );
    expect(rows.map(({ writes }) => writes)).toEqual([['k-0', 'k-1'], ['k-2'], ['k-3']]);
  });
});
