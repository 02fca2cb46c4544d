import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { serve } from './child';
import { linesOf } from '../report/lines';
import { numberOf } from '../tasks';

/**
 * The process that both sides call: 5 ms a call, whatever its size. It keeps what was sent, when,
 * and in how many calls at once. A line of JSON a call and a line for its answer over TCP: HTTP
 * would cost both sides more than the work that is measured.
 */

const CALL_MS = 5;

export interface SentCall {
  atMs: number;
  /** Numbers of its tasks in the run. */
  tasks: number[];
}
export interface DownstreamReport {
  calls: number;
  items: number;
  /** Tasks sent more than once. */
  repeated: number;
  mostInFlight: number;
  /** Only where they were asked for. */
  sent: SentCall[];
}
export interface CallLine {
  no: number;
  target: string;
  items: { id: string; payload: unknown }[];
}
export interface AnswerLine {
  no: number;
  results: { id: string; ref: string }[];
}

let keep = false;
let inFlight = 0;
let seen = new Set<string>();
const empty = (): DownstreamReport => ({ calls: 0, items: 0, repeated: 0, mostInFlight: 0, sent: [] });
let report = empty();

const take = (line: string, atMs: number): string => {
  const { no, items } = JSON.parse(line) as CallLine;
  report.calls++;
  report.items += items.length;
  for (const { id } of items) {
    if (seen.has(id)) report.repeated++;
    seen.add(id);
  }
  if (keep) report.sent.push({ atMs, tasks: items.map(({ id }) => numberOf(id)) });
  return `${JSON.stringify({ no, results: items.map(({ id }) => ({ id, ref: `d-${numberOf(id)}` })) } satisfies AnswerLine)}\n`;
};

const server = net.createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => undefined); // a side that ends
  linesOf(socket, (line) => {
    const atMs = Date.now();
    report.mostInFlight = Math.max(report.mostInFlight, ++inFlight);
    const answer = take(line, atMs);
    setTimeout(
      () => {
        inFlight--;
        socket.write(answer);
      },
      Math.max(0, CALL_MS - (Date.now() - atMs)),
    );
  });
});

serve(
  {
    listen: () =>
      new Promise<number>((resolve) =>
        server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
      ),
    reset: (keepCalls: boolean) => {
      keep = keepCalls;
      seen = new Set();
      report = empty();
    },
    report: () => report,
  },
  () => undefined,
);
