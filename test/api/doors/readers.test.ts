import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { createDoor, UNREAD_MS } from '../../../workers/doors/sockets';

/** How fast a caller must read what waits for it, by a clock of its own. */

let nowMs = 0;
beforeEach(() => void jest.spyOn(performance, 'now').mockImplementation(() => nowMs));
afterEach(() => void jest.restoreAllMocks());

/** A caller for whom something waits, and who takes so much of it per second. */
const openReader = () => {
  const timers = jest.spyOn(globalThis, 'setInterval');
  const door = createDoor((_: IncomingMessage, response: ServerResponse) => void response.end(), 10);
  const [check] = timers.mock.calls[0]!;
  const handle = { bytesWritten: 0, writeQueueSize: 0, readStart: () => undefined, readStop: () => undefined };
  const written: (() => void)[] = [];
  const write = (_chunk: unknown, _encoding: unknown, done: () => void): void => void written.push(done);
  const socket = Object.assign(new Duplex({ read: () => undefined, write }), { _handle: handle });
  door.emit('connection', socket);
  socket.write('x');
  const readFor = (ms: number, bytesPerS: number): void => {
    for (const until = nowMs + ms; nowMs < until;) {
      nowMs += 1_000;
      handle.bytesWritten += bytesPerS;
      check();
    }
  };
  return { socket, readFor, readAll: () => written.splice(0).forEach((done) => done()) };
};

test.each([
  ['nothing', 0, true],
  ['a byte per second', 1, true],
  ['12 KB per second', 12_000, true],
  ['15 KB per second', 15_000, false],
])('a caller who takes %s of what waits for it: is it let go?', (_what, bytesPerS, expected) => {
  const { socket, readFor } = openReader();
  readFor(UNREAD_MS, bytesPerS);
  expect(socket.destroyed).toBe(false);
  readFor(10 * UNREAD_MS, bytesPerS);
  expect(socket.destroyed).toBe(expected);
});

test('who took the last of it is kept, however long nothing follows; then the time begins anew', () => {
  const { socket, readFor, readAll } = openReader();
  readFor(UNREAD_MS, 1);
  readAll();
  readFor(10 * UNREAD_MS, 0);
  socket.write('more');
  readFor(UNREAD_MS, 0);
  expect(socket.destroyed).toBe(false);
  readFor(1_000, 0);
  expect(socket.destroyed).toBe(true);
});
