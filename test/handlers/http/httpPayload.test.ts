import { httpHandler } from '../../../handlers';
import { buildBatch, faultsIn, problemsIn } from '../build';
import { httpConfig } from './httpConfig';

const url = 'https://api.example.com';
const problems = (changes: Record<string, unknown>) => problemsIn(() => httpHandler(httpConfig(url, changes)));
const request = (changes: Record<string, unknown>) => ({ request: { url: `${url}/batch`, ...changes } });

describe('payloads', () => {
  const make = (changes: Record<string, unknown> = {}) => httpHandler(httpConfig(url, changes));

  test('target, weight and order key come from paths, dotted or pointers', () => {
    const handler = make({ target: 'customer.region', weight: '/cost/in.tokens', distinctBy: 'customer.id' });
    const payload = { n: 1, customer: { region: 'eu', id: 7 }, cost: { 'in.tokens': 12.5 } };
    expect(handler.target(payload)).toBe('eu');
    expect(handler.weightOf(payload)).toBe(12.5);
    expect(handler.distinctBy?.(payload)).toBe('7');
    expect(faultsIn(handler, payload)).toEqual([]);
    expect(make({ target: { constant: 'all' } }).target({})).toBe('all');
  });

  test('what the settings take from a payload is checked at submit, all of it', () => {
    const handler = make({ target: 'customer.region', weight: 'cost' });
    expect(faultsIn(handler, { customer: { region: '' }, cost: -1 })).toEqual([
      'n: expected a value (request.item takes {{payload.n}}), got nothing',
      ': payload customer.region: expected 1-512 bytes (the target), got 0',
      ': payload cost: expected a number of at least 0 (the weight), got -1',
    ]);
    expect(faultsIn(handler, { n: 1, customer: { region: 'x'.repeat(513) }, cost: 1 })).not.toEqual([]);
    expect(() => handler.target({ customer: {} })).toThrow(
      'payload customer.region: expected text or a number (the target), got nothing',
    );
  });

  test('a value that may be missing is marked with ?', () => {
    const handler = make({
      request: { url: `${url}/x`, item: { id: '{{id}}', note: '{{payload.note?}}', text: 'n: {{payload.note?}}' } },
    });
    expect(faultsIn(handler, { to: 'A' })).toEqual([]);
    expect(handler.preview?.(buildBatch([{ to: 'A' }])).body).toBe('[{"id":"t0","text":"n: "}]');
  });

  test('a JSON Schema is kept to, and the paths must be among what it declares', () => {
    const schema = {
      type: 'object',
      properties: { to: { type: 'string' }, n: { type: 'integer', minimum: 1 } },
      required: ['to', 'n'],
    };
    const handler = make({ schema });
    expect(faultsIn(handler, { to: 'A', n: 1 })).toEqual([]);
    expect(faultsIn(handler, { to: 'A', n: 0 })).not.toEqual([]);
    expect(problems({ schema, target: 'too' })).toEqual([
      expect.stringMatching(/^target: expected a path that the schema declares, got too; did you mean "to"\?/),
    ]);
    expect(problems({ schema, target: 'region.id' })).toEqual([
      expect.stringContaining('got region; known there: to, n'),
    ]);
    expect(problems({ schema: { ...schema, additionalProperties: true }, target: 'region' })).toEqual([]);
    expect(problems({ schema: { type: 'bogus' } })).toEqual([
      expect.stringMatching(/^schema.type: expected a JSON Schema that can be read/),
    ]);
    expect(problems({ schema: 'x' })).toEqual(['schema: expected a JSON Schema (an object), got "x"']);
  });
});

describe('sizes (H6)', () => {
  const items = [
    { n: 1, to: 'A' },
    { n: 22, to: 'A' },
    { n: 333, to: 'ü' },
  ];

  test.each([
    ['json', {}],
    ['json in an envelope', { envelope: { requests: '{{items}}', kind: 'x' } }],
    ['ndjson', { encode: 'ndjson', item: [{ index: { _id: '{{id}}' } }, '{{payload}}'] }],
  ])('%s: the sum of bytesOf and overheadBytes is the body, whatever the ids', (_, changes) => {
    const handler = httpHandler(
      httpConfig(url, { ...request({ item: { id: '{{id}}', n: '{{payload.n}}' }, ...changes }) }),
    );
    const plain = buildBatch(items);
    const batch = {
      ...plain,
      tasks: plain.tasks.map((task, i) => ({ ...task, id: `${'long "ü" '.repeat(i * 9)}${task.id}` })),
    };
    const counted = batch.tasks.reduce(
      (sum, { payload, id }) => sum + handler.bytesOf(payload, id),
      handler.limits.overheadBytes,
    );
    const body = Buffer.byteLength(handler.preview!(batch).body);
    expect(counted).toBe(body);
  });
});
