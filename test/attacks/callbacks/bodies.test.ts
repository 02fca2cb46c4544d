import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { readJson } from '../../../workers/callbacks/body';
import { CallbackMemory } from '../../../workers/callbacks/memory';
import { MOST_VALUES } from '../../../workflows/planning/jsonText';
import { eventually } from '../../helpers/eventually';
import { Tally } from '../tally';

/**
 * Completions that would become hundreds of times their bytes in memory are refused unparsed, and
 * many large ones at once wait, and keep no other out.
 */

const tally = new Tally('bodies of completions');
const together = new Tally('large completions at once');
const MAX_BYTES = 16_777_216;
const memory = new CallbackMemory(MAX_BYTES);
/** Ends each completion that is at work. */
let end: () => void;
let ended: Promise<void>;
const restart = (): void => void (ended = new Promise<void>((resolve) => (end = resolve)));
/** By batch: completions that are parsed, and at work. */
const working = new Map<string, number>();
let arrived = 0;
const server = createServer((request, response) => {
  request.once('end', () => arrived++);
  const batch = request.url!.slice(1);
  const part = memory.part('jobs', Number(batch));
  const work = async (): Promise<string> => {
    const value = await readJson(request, { maxBytes: MAX_BYTES, members: ['results'], part });
    working.set(batch, (working.get(batch) ?? 0) + 1);
    await ended;
    working.set(batch, working.get(batch)! - 1);
    return `read ${Object.keys(value).length}`;
  };
  void work()
    .catch((error: Error) => `${error.name} ${error.message}`)
    .then((answer) => {
      part.leave();
      response.end(answer);
    });
});
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => void server.close());
beforeEach(() => {
  restart();
  end();
});

const portOf = (): number => (server.address() as AddressInfo).port;
const send = async (body: string, batch = 1): Promise<string> =>
  (await fetch(`http://127.0.0.1:${portOf()}/${batch}`, { method: 'POST', body })).text();
const results = (one: string, n: number, before = ''): string => `{${before}"results":[${`${one},`.repeat(n)}0]}`;

test('a completion with too many values is refused, whatever they are; one of many results is read', async () => {
  for (const one of ['0', '[]', '{}', '""', 'null', '{"a":0}', '[[]]', '{"":{}}']) {
    const answer = await send(results(one, MOST_VALUES));
    const isRefused = /at most \d+ (JSON values and names|bytes)/.test(answer);
    tally.add(`${one} x ${MOST_VALUES}`, isRefused ? null : answer);
  }
  const deep = `"x":${'['.repeat(1_000)}${']'.repeat(1_000)},`;
  const answer = await send(results('[]', MOST_VALUES, deep));
  tally.add('behind something deep', /at most \d+ JSON values/.test(answer) ? null : answer);
  const result = JSON.stringify({ id: 't', status: 'ok', result: { a: 1 } });
  expect(await send(results(result, 100_000))).toBe('read 1');
  tally.expectNoneThrough(9);
});

test('of completions with many values few are in memory at once; one of another batch does not wait', async () => {
  restart();
  arrived = 0;
  const large = results('[]', MOST_VALUES - 10);
  const answers = Array.from({ length: 6 }, () => send(large));
  await eventually(() => working.get('1') === 1, { what: 'the first to be parsed' });
  await eventually(() => arrived === answers.length, { what: 'all of them to arrive' });
  const other = send(results('{}', 10), 2);
  await eventually(() => working.get('2') === 1, { what: 'that of the other batch to be parsed' });
  together.add('six of a million values', working.get('1') === 1 ? null : `${working.get('1')} are parsed at once`);
  end();
  expect(await other).toBe('read 1');
  expect([...new Set(await Promise.all(answers))]).toEqual(['read 1']);
  together.expectNoneThrough(1);
});

test('a body is read as it was sent, whatever its pieces are', async () => {
  const body = results('{"id":"é"}', 2_000);
  const socket = connect(portOf(), '127.0.0.1');
  let answer = '';
  socket.on('data', (part: Buffer) => (answer += part.toString()));
  socket.write('POST /3 HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n');
  const pieces = Array.from(Buffer.from(body), (byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]));
  socket.write(Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]));
  await eventually(() => answer.includes('read 1'), { what: 'the answer' });
  socket.destroy();
});

test('a body on its way takes as much room as its buffer has, which is no more than a body may have', async () => {
  const allocated = jest.spyOn(Buffer, 'allocUnsafeSlow');
  let taken = 0;
  const part = {
    arrive: (bytes: number) => void (taken += bytes),
    parse: async () => undefined,
    leave: () => undefined,
  };
  const sizes: number[] = [];
  for (const length of [1, 100, 5_000, 9_000, 10_000]) {
    taken = 0;
    allocated.mockClear();
    // In pieces of a prime number of bytes.
    const pieces = Buffer.from('{}'.padEnd(length))
      .toString()
      .match(/.{1,97}/g)!;
    const request = Object.assign(Readable.from(pieces.map((piece) => Buffer.from(piece))), { headers: {} });
    await readJson(request as unknown as IncomingMessage, { maxBytes: 10_000, members: [], part });
    const size = Math.max(...allocated.mock.calls.map(([bytes]) => bytes));
    expect([length, taken]).toEqual([length, size]);
    sizes.push(size);
  }
  allocated.mockRestore();
  expect(Math.max(...sizes)).toBe(10_000);
});

test('of the room for bodies on their way, a handler, and a batch of it, leave some for others', () => {
  const room = new CallbackMemory(MAX_BYTES);
  const PIECE = 65_536;
  /** Takes all that it gets, in pieces of what a socket reads. */
  const takeAll = (handler: string, batch: number): number => {
    const part = room.part(handler, batch);
    for (let bytes = 0; ; bytes += PIECE)
      try {
        part.arrive(PIECE);
      } catch {
        return bytes / MAX_BYTES;
      }
  };
  const shares: number[] = [];
  for (let batch = 1; batch <= 20; batch++) shares.push(takeAll('hostile', batch));
  expect(shares.slice(0, 3)).toEqual([2, 1, 0.5]);
  expect(shares.reduce((sum, share) => sum + share)).toBeLessThanOrEqual(4);
  // The same again by other handlers of hostile downstreams.
  for (const handler of ['b', 'c', 'd']) for (let batch = 21; batch <= 40; batch++) takeAll(handler, batch);
  const honest = room.part('honest', 99);
  expect(() => honest.arrive(PIECE)).not.toThrow();
  expect(takeAll('honest', 98)).toBeGreaterThan(0);

  const alone = new CallbackMemory(MAX_BYTES).part('jobs', 1);
  for (const _ of [1, 2]) alone.arrive(MAX_BYTES);
  expect(() => alone.arrive(1)).toThrow('Too many callbacks of this batch, or of its handler, at once.');
  alone.leave();
  expect(() => alone.arrive(MAX_BYTES)).not.toThrow();
});
