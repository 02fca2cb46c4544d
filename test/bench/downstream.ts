import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './child';
import { numberOf } from './tasks';

/** The process that both sides call: 5 ms a call, whatever its size. It keeps what was sent, when, and in how many calls at once. */

const CALL_MS = 5;

export interface SentCall {
  atMs: number;
  target: string;
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

let keep = false;
let inFlight = 0;
let seen = new Set<string>();
const empty = (): DownstreamReport => ({ calls: 0, items: 0, repeated: 0, mostInFlight: 0, sent: [] });
let report = empty();

const take = (body: string, atMs: number): string => {
  const { target, items } = JSON.parse(body) as { target: string; items: { id: string }[] };
  report.calls++;
  report.items += items.length;
  for (const { id } of items) {
    if (seen.has(id)) report.repeated++;
    seen.add(id);
  }
  if (keep) report.sent.push({ atMs, target, tasks: items.map(({ id }) => numberOf(id)) });
  return JSON.stringify({ results: items.map(({ id }) => ({ id, ref: `d-${numberOf(id)}` })) });
};

const server = http.createServer((request, response) => {
  const atMs = Date.now();
  report.mostInFlight = Math.max(report.mostInFlight, ++inFlight);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const answer = take(Buffer.concat(chunks).toString(), atMs);
    setTimeout(() => {
      inFlight--;
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
      response.end(answer);
    }, Math.max(0, CALL_MS - (Date.now() - atMs)));
  });
});
server.keepAliveTimeout = 600_000;

serve(
  {
    listen: () => new Promise<string>((resolve) => server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))),
    reset: (keepCalls: boolean) => {
      keep = keepCalls;
      seen = new Set();
      report = empty();
    },
    report: () => report,
  },
  () => server.closeAllConnections(),
);
