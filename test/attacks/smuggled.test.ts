import { connect } from 'node:net';
import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';
import { eventually } from '../helpers/eventually';
import { Tally } from './tally';

/**
 * Requests whose end, or whose host, two servers behind one another could read differently: refused
 * with 400, their connection closed, and what hides in them is not done.
 */

const tally = new Tally('HTTP API: smuggled requests');
let world: ApiWorld;
let token: string;
beforeAll(async () => {
  world = await openWorld({ open: false });
  token = await world.token('operate', 'read');
  await world.client.submit('items', items('a', '1'));
  await eventually(async () => (await world.call('GET /v1/handlers/items', { token })).status === 200);
});
afterAll(() => world.stop());

/** Sends the bytes, and returns all that came until the other side closed, or said no more. */
const send = (bytes: string): Promise<string> =>
  new Promise((resolve) => {
    let got = '';
    const socket = connect({ port: Number(new URL(world.api.url).port), host: '127.0.0.1' });
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => (got += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(got));
    socket.write(Buffer.from(bytes, 'latin1'));
  });

const auth = (): string => `Authorization: Bearer ${token}\r\n`;
const HOST = 'Host: 127.0.0.1\r\n';
const JSON_BODY = 'Content-Type: application/json\r\n';
const hidden = (): string =>
  `POST /v1/handlers/items/pause HTTP/1.1\r\n${HOST}${auth()}${JSON_BODY}Content-Length: 2\r\n\r\n{}`;
/** A request with these headers, and another one where only one of two readers sees a body. */
const framed = (headers: string, before = '0\r\n\r\n'): string =>
  `POST /v1/tasks:lookup HTTP/1.1\r\n${HOST}${auth()}${JSON_BODY}${headers}\r\n\r\n${before}${hidden()}`;
const headed = (headers: string): string => `GET /v1/handlers/items HTTP/1.1\r\n${headers}${auth()}\r\n`;

const FORMS: Readonly<Record<string, () => string>> = {
  'a length and chunks': () => framed('Content-Length: 5\r\nTransfer-Encoding: chunked'),
  'chunks and a length': () => framed('Transfer-Encoding: chunked\r\nContent-Length: 5'),
  'a length of 0 and chunks': () => framed('Content-Length: 0\r\nTransfer-Encoding: chunked'),
  'two lengths': () => framed('Content-Length: 5\r\nContent-Length: 0'),
  'two equal lengths': () => framed('Content-Length: 5\r\nContent-Length: 5'),
  'a list of lengths': () => framed('Content-Length: 5, 5'),
  'a length with a sign': () => framed('Content-Length: +5'),
  'a negative length': () => framed('Content-Length: -5'),
  'a hexadecimal length': () => framed('Content-Length: 0x5'),
  'a length with a fraction': () => framed('Content-Length: 5.0'),
  'an empty length': () => framed('Content-Length: '),
  'a length beyond all numbers': () => framed('Content-Length: 18446744073709551621'),
  'a length with letters behind it': () => framed('Content-Length: 5 x'),
  'an encoding that is not chunks': () => framed('Transfer-Encoding: xchunked'),
  'chunks, and then another encoding': () => framed('Transfer-Encoding: chunked, identity'),
  'two encodings': () => framed('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'),
  'an encoding in quotes': () => framed('Transfer-Encoding: "chunked"'),
  'an encoding with a vertical tab': () => framed('Transfer-Encoding: \x0bchunked'),
  'a space before the colon': () => framed('Transfer-Encoding : chunked'),
  'a space before the name': () => framed(' Transfer-Encoding: chunked'),
  'a folded header': () => framed('X: y\r\n Transfer-Encoding: chunked'),
  'a folded encoding': () => framed('Transfer-Encoding:\r\n chunked'),
  'a header with NUL': () => framed('X: a\0b\r\nContent-Length: 5'),
  'a name with NUL': () => framed('Content-Length\0: 5'),
  'a bare CR in a header': () => framed('X: a\rContent-Length: 0'),
  'lines that end in LF': () => framed('X: a\nTransfer-Encoding: chunked'),
  'a header without a colon': () => framed('Transfer-Encoding chunked'),
  'a chunk of a negative size': () => framed('Transfer-Encoding: chunked', '-1\r\n\r\n'),
  'a chunk of a size with a sign': () => framed('Transfer-Encoding: chunked', '+0\r\n\r\n'),
  'a chunk of a size beyond all numbers': () => framed('Transfer-Encoding: chunked', '1ffffffffffffffff\r\n\r\n'),
  'a chunk of a size with 0x': () => framed('Transfer-Encoding: chunked', '0x0\r\n\r\n'),
  'a chunk longer than its size': () => framed('Transfer-Encoding: chunked', '2\r\n{}x\r\n0\r\n\r\n'),
  'a chunk whose line ends in LF': () => framed('Transfer-Encoding: chunked', '2\n{}\n0\n\n'),
  'a chunk with LF in its extension': () => framed('Transfer-Encoding: chunked', '2;a\nb\r\n{}\r\n0\r\n\r\n'),
  'no host': () => headed(''),
  'two hosts': () => headed(`${HOST}Host: evil.test\r\n`),
  'two hosts, the other first': () => headed(`Host: evil.test\r\n${HOST}`),
  'two equal hosts': () => headed(HOST + HOST),
  'two hosts by different names': () => headed(`${HOST}hOST: evil.test\r\n`),
  'a host with a user': () => headed('Host: 127.0.0.1@evil.test\r\n'),
  'a list of hosts': () => headed('Host: 127.0.0.1, evil.test\r\n'),
  'a folded host': () => headed('Host: 127.0.0.1\r\n evil.test\r\n'),
  'a host with a path': () => headed('Host: 127.0.0.1/evil.test\r\n'),
  'a target of another host': () => `GET http://evil.test/v1/handlers/items HTTP/1.1\r\n${HOST}${auth()}\r\n`,
  'another version': () => `GET /v1/handlers/items HTTP/9.9\r\n${HOST}${auth()}\r\n`,
  'no version': () => `GET /v1/handlers/items\r\n${HOST}${auth()}\r\n`,
  'a request behind one of two hosts': () => `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n${hidden()}`,
  'a preface of HTTP/2': () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden()}`,
};

test.each(Object.keys(FORMS))('%s', async (form) => {
  const answer = await send(FORMS[form]!());
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  const [{ paused } = { paused: null }] = await world.client.status('items');
  tally.add(
    form,
    paused === null && String(statuses) === '400' ? null : `${String(statuses)}, paused: ${paused !== null}`,
  );
  expect([paused, statuses]).toEqual([null, ['400']]);
});

test('a fault in a later request is answered in its turn, says what was expected, and ends the connection', async () => {
  const first = `POST /v1/tasks:lookup HTTP/1.1\r\n${HOST}${auth()}${JSON_BODY}Content-Length: 13\r\n\r\n{"ids":["1"]}`;
  const answer = await send(`${first}${headed(HOST + HOST)}${hidden()}`);
  expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '400']);
  expect(answer).toContain('Host: expected one name or address');
  expect((await world.client.status('items'))[0]?.paused).toBeNull();
});

test('the same without a fault is taken', async () => {
  const close = 'Connection: close\r\n';
  for (const host of ['127.0.0.1', 'muster_api:8080', '[::1]:80', 'a-b.example', '', 'outbound|80||api.svc', 'a:'])
    expect(await send(headed(`Host: ${host}\r\n${close}`))).toMatch(/^HTTP\/1\.1 200/);
  // As a proxy is asked; RFC 9112, 3.2.2 has every server take it.
  const absolute = `GET http://127.0.0.1/v1/handlers/items HTTP/1.1\r\n${HOST}${auth()}${close}\r\n`;
  expect(await send(absolute)).toMatch(/^HTTP\/1\.1 200/);
  const chunks = 'd\r\n{"ids":["1"]}\r\n0\r\n\r\n';
  const head = `POST /v1/tasks:lookup HTTP/1.1\r\n${HOST}${auth()}${JSON_BODY}${close}Transfer-Encoding: chunked`;
  expect(await send(`${head}\r\n\r\n${chunks}`)).toMatch(/^HTTP\/1\.1 200/);
  tally.expectNoneThrough(48);
});
