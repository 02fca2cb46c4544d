import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { ApiHome, ApiProcess } from '../api/child';
import { createHome } from '../api/child';
import { headOf } from '../bench/tenants/wire';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { MEMORY_MB, peakMb, startSmallApi } from './apiWithLittleMemory';
import { Tally } from './tally';

/**
 * Bodies that become much more in memory than they are on the way, to an API with little of it.
 *
 * @slow
 */

const tally = new Tally('HTTP API: greedy bodies');

const BODY = 4_194_304;
/** Bodies of one kind at once. */
const AT_ONCE = rounds(2, 8);

let home: ApiHome;
let api: ApiProcess;
let tokens: readonly string[];
beforeAll(async () => {
  home = await createHome();
  ({ api, tokens } = await startSmallApi(home));
});
afterAll(() => home.close());

/** As often as fits between what is before and after it. */
const filled = (before: string, one: (n: number) => string, after: string): Buffer => {
  const parts = [before];
  let length = before.length + after.length;
  for (let n = 0; ; n++) {
    const part = one(n);
    length += part.length;
    if (length > BODY) break;
    parts.push(part);
  }
  return Buffer.from(parts.join('').replace(/, ?$/, '') + after);
};
const always = (text: string) => () => text;
const payload = (inner: (n: number) => string, open = '[', close = ']'): Buffer =>
  filled(`{"tasks":[{"id":"x","payload":${open}`, inner, `${close}}]}`);
const lists = (inner: (n: number) => string): Buffer =>
  filled('{"template":{"function_id":"f","method":"m"},"arguments":[', inner, ']}');

const manyTasks = (one: (n: number) => string): Buffer =>
  Buffer.from(`{"tasks":[${Array.from({ length: 10_000 }, (_, n) => one(n)).join(',')}]}`);

const submit = '/v1/handlers/greedy/tasks';
const KINDS: Readonly<Record<string, readonly [path: string, body: Buffer]>> = {
  'empty lists': [submit, filled('[', always('[],'), ']')],
  'empty lists as tasks': [submit, filled('{"tasks":[', always('[],'), ']}')],
  'empty objects as tasks': [submit, filled('{"tasks":[', always('{},'), ']}')],
  'empty lists in a payload': [submit, payload(always('[],'))],
  'empty objects in a payload': [submit, payload(always('{},'))],
  'lists of one number in a payload': [submit, payload(always('[0],'))],
  // As many values as are taken, and a few less than bytes for them.
  'as many lists as are taken': [submit, payload(always('[      ],'))],
  'as many objects as are taken': [submit, payload(always('{"a":                  0},'))],
  'as many names as are taken': [submit, payload((n) => `"${n.toString(36).padStart(6, '0')}":      0,`, '{', '}')],
  'as many exponents as are taken': [submit, payload(always('1e11    ,'))],
  'as many wrong arguments as are taken': ['/v1/executions', lists(always('[0              ],'))],
  'as many unknown fields as are taken': [
    submit,
    filled('{', (n) => `"${n.toString(36).padStart(6, '0')}":      0,`, '}'),
  ],
  'as many results as are taken': [
    '/v1/handlers/greedy/complete',
    filled('{"batchId":1,"results":[', always('{      },'), ']}'),
  ],
  'objects of one member in a payload': [submit, payload(always('{"a":0},'))],
  'many names in a payload': [submit, payload((n) => `"${n.toString(36)}":0,`, '{', '}')],
  'nested lists in a payload': [submit, payload(always(`${'['.repeat(90)}${']'.repeat(90)},`))],
  'nested objects in a payload': [submit, payload(always(`${'{"a":'.repeat(90)}0${'}'.repeat(90)},`))],
  'unknown fields': [submit, filled('{', (n) => `"${n.toString(36)}":0,`, '}')],
  'one long name': [submit, filled('{"', always('aaaaaaaa'), '":0}')],
  'one long text': [submit, payload(always('\\u0041'.repeat(16)), '"', '"')],
  'numbers with exponents': [submit, payload(always('1e11,'))],
  'wrong tasks': [submit, manyTasks(() => '{"id":1,"x":[]}')],
  'refused tasks': [submit, manyTasks((n) => `{"id":"${'x'.repeat(300)}${n}","payload":1}`)],
  'small tasks': [submit, manyTasks((n) => `{"id":"${n}","payload":[${'0,'.repeat(40)}0]}`)],
  'numbers as arguments': ['/v1/executions', lists(always('[0],'))],
  'empty argument lists': ['/v1/executions', lists(always('[],'))],
  'many environment variables': [
    '/v1/executions',
    filled(
      '{"arguments":[["a"]],"template":{"function_id":"f","method":"m","config":{"env_vars":{',
      (n) => `"${n.toString(36)}":0,`,
      '}}}}',
    ),
  ],
  'many results': ['/v1/handlers/greedy/complete', filled('{"batchId":1,"results":[', always('{},'), ']}')],
  'many ids': ['/v1/items:ack', filled('{"items":[', always('"x",'), ']}')],
  'not JSON': [submit, filled('', always('[{"'), '')],
  commas: [submit, filled('', always(','), '')],
};

const send = async (kind: string, at: number): Promise<number> => {
  const [path, raw] = KINDS[kind]!;
  const token = tokens[at % tokens.length]!;
  return (await api.call(`POST ${path}`, { raw, token })).status;
};

/** What an API answers that is at its limits: it takes it, refuses it, or asks to come again. */
const EXPECTED = [200, 202, 400, 404, 409, 413, 422, 429, 503];

test(`greedy bodies of each kind at once: an API with ${MEMORY_MB} MB answers each and stays below`, async () => {
  for (let round = 0; round < rounds(1, 3); round++)
    for (const kind of Object.keys(KINDS)) {
      const statuses = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => send(kind, at).catch(() => 0)));
      const other = statuses.filter((status) => !EXPECTED.includes(status));
      for (const _ of statuses.slice(other.length)) tally.add(kind, null);
      for (const status of other) tally.add(kind, status === 0 ? 'the process did not answer' : `status ${status}`);
      if (peakMb(api) === Infinity) break;
    }
  // Different ones at once, more than there is room for.
  const kinds = Object.keys(KINDS);
  const mixed = await Promise.all(kinds.map((kind, at) => send(kind, at).catch(() => 0)));
  mixed.forEach((status, at) =>
    tally.add(`${kinds[at]}, with others`, EXPECTED.includes(status) ? null : `status ${status}`),
  );
  const peak = peakMb(api);
  tally.add('all of them', peak < MEMORY_MB ? null : `${peak} MB at its peak`);
  expect((await api.call('GET /health/ready')).status).toBe(200);
  tally.expectNoneThrough(AT_ONCE * kinds.length + 1);
});

/** What each of many connections sends that then reads no answer, and never ends by itself. */
const HELD: Readonly<Record<string, { callers: number; sends: (fanout: string, token: string) => string }>> = {
  'waiting streams': { callers: 300, sends: (id, token) => headOf(`GET /v1/fanouts/${id}/events`, token, 0) },
  'waiting polls': { callers: 300, sends: (id, token) => headOf(`GET /v1/fanouts/${id}?wait=60`, token, 0) },
  'half of the headers': { callers: 300, sends: () => `GET / HTTP/1.1\r\nX-A: ${'x'.repeat(12_000)}` },
  'all but a byte of a body': {
    callers: rounds(60, 200),
    sends: (_, token) => headOf(`POST ${submit}`, token, BODY) + 'x'.repeat(BODY - 1),
  },
  'requests behind one that waits': {
    callers: 100,
    sends: (id, token) =>
      headOf(`GET /v1/fanouts/${id}?wait=60`, token, 0) + headOf('GET /openapi.json', token, 0).repeat(2_000),
  },
  'answers that are not read': {
    callers: 100,
    sends: (_, token) => headOf('GET /openapi.json', token, 0).repeat(2_000),
  },
};

test(`callers that wait, send or read slowly, all at once: the same API stays below ${MEMORY_MB} MB`, async () => {
  const { body } = await api.call('POST /v1/fanouts', { body: {}, token: tokens[0]! });
  const sockets: Socket[] = [];
  for (const [kind, { callers, sends }] of Object.entries(HELD)) {
    for (let at = 0; at < callers; at++) {
      const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1' });
      socket.on('error', () => undefined).pause();
      socket.write(sends(body.id as string, tokens[at % tokens.length]!));
      sockets.push(socket);
    }
    // Whoever comes now is still answered, perhaps with a refusal, after what these have sent.
    for (let asked = 0; asked < 10; asked++) {
      const { status } = await api.call('GET /health/live').catch(() => ({ status: 0 }));
      tally.add(`beside ${kind}`, status === 200 ? null : `status ${status}`);
    }
    const peak = peakMb(api);
    tally.add(kind, peak < MEMORY_MB ? null : `${peak} MB at its peak`);
  }
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await api.call('GET /health/ready')).status === 200);
  tally.expectNoneThrough(11 * Object.keys(HELD).length);
});
