import net from 'node:net';
import type { AnswerLine, CallLine } from './downstream';
import { linesOf } from '../report/lines';

/**
 * The one way in which Muster's handler and the floor call the downstream: one connection, calls
 * told apart by their number.
 */

export type Item = CallLine['items'][number];
export type ItemAnswer = AnswerLine['results'][number];

interface Waiting {
  resolve: (answers: ItemAnswer[]) => void;
  reject: (error: Error) => void;
}
let connection: { socket: net.Socket; waiting: Map<number, Waiting> } | null = null;
let last = 0;

export const callDownstream = (port: number, target: string, items: readonly Item[]): Promise<ItemAnswer[]> =>
  new Promise((resolve, reject) => {
    connection ??= connect(port);
    const no = ++last;
    connection.waiting.set(no, { resolve, reject });
    connection.socket.write(`${JSON.stringify({ no, target, items })}\n`);
  });

const connect = (port: number): NonNullable<typeof connection> => {
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true);
  const waiting = new Map<number, Waiting>();
  linesOf(socket, (line) => {
    const { no, results } = JSON.parse(line) as AnswerLine;
    waiting.get(no)?.resolve(results);
    waiting.delete(no);
  });
  socket.on('error', () => undefined); // told by close
  socket.on('close', () => {
    connection = null;
    for (const { reject } of waiting.values()) reject(new Error('the downstream closed the connection'));
  });
  return { socket, waiting };
};
