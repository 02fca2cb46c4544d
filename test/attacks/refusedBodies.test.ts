import { connect } from 'node:net';
import type { ApiWorld } from '../api/world';
import { openWorld } from '../api/world';
import { eventually } from '../helpers/eventually';
import { Tally } from './tally';

/** Large bodies of requests that are refused before them: they are not read. */

const tally = new Tally('HTTP API: bodies of refused requests');
const BODY = 64 * 1_048_576;
const PIECE = Buffer.alloc(65_536, ' ');
/** What the system takes of a sender whose reader has stopped. */
const SYSTEM_BYTES = 24 * 1_048_576;

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ open: false });
});
afterAll(() => world.stop());

/** Sends it all, whatever is answered, and says what was, and how much of it was taken. */
const send = async (head: string): Promise<{ answer: string; taken: number }> => {
  const socket = connect(Number(new URL(world.api.url).port), '127.0.0.1');
  let answer = '';
  let isClosed = false;
  socket.on('data', (part: Buffer) => (answer += part.toString()));
  socket.on('error', () => undefined).once('close', () => (isClosed = true));
  socket.write(
    `POST /v1/handlers/items/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${head}\r\n\r\n`,
  );
  if (head.endsWith('chunked')) socket.write(`${BODY.toString(16)}\r\n`);
  let taken = 0;
  const more = (): void => {
    if (taken < BODY && !isClosed)
      socket.write(PIECE, (error) => (error ? undefined : ((taken += PIECE.length), more())));
  };
  more();
  await eventually(() => isClosed, { what: 'the connection to be closed' });
  return { answer, taken };
};

test.each([
  ['of a token that does not exist', `Authorization: Bearer none\r\nContent-Length: ${BODY}`, 401],
  ['without a length', 'Authorization: Bearer none\r\nTransfer-Encoding: chunked', 401],
])('a body %s is not read to its end, and its sender is told why', async (what, head, status) => {
  const { answer, taken } = await send(head);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n[^]*"code":`, 'i'));
  tally.add(what, taken < SYSTEM_BYTES ? null : `${taken} bytes were taken`);
  tally.expectNoneThrough(1);
});
