import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as requestOver } from 'node:http';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Agent, request } from 'undici';

/** Load on an HTTP address, and what came of it. */

export interface Sent {
  status: number;
  text: string;
}
export type Post = (path: string, body: object) => Promise<Sent>;

/** `connections` at once at most; closed with `close`. */
export const poster = (url: string, connections: number): { post: Post; close: () => Promise<void> } => {
  const dispatcher = new Agent({
    connections,
    pipelining: 1,
    connect: { timeout: 120_000 },
    headersTimeout: 120_000,
    bodyTimeout: 120_000,
  });
  return {
    post: async (path, body) => {
      const { statusCode, body: answer } = await request(`${url}${path}`, {
        method: 'POST',
        dispatcher,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: statusCode, text: await answer.text() };
    },
    close: () => dispatcher.close(),
  };
};

/** Opens that many connections; those that the server does not take are errors. */
const openAll = (url: string, connections: number): Promise<(Socket | Error)[]> => {
  const { hostname, port } = new URL(url);
  return Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      return once(socket, 'connect').then(
        () => socket,
        (error: Error) => error,
      );
    }),
  );
};

/** Posts over a connection that is open already, and closes it. */
const postOver = async (url: string, socket: Socket, path: string, body: object): Promise<Sent> => {
  const asked = requestOver(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    createConnection: () => socket,
  });
  asked.end(JSON.stringify(body));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, text: await text(answer) };
};

export interface Rate {
  perS: number;
  p50Ms: number;
  p99Ms: number;
}

/** `calls` of them, `parallel` at a time. */
export const rateOf = async (
  calls: number,
  parallel: number,
  work: (call: number) => Promise<unknown>,
): Promise<Rate> => {
  const times: number[] = [];
  let next = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      for (let call = next++; call < calls; call = next++) {
        const from = performance.now();
        await work(call);
        times.push(performance.now() - from);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1_000;
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))]! * 10) / 10;
  return { perS: Math.round((calls / seconds) * 10) / 10, p50Ms: at(0.5), p99Ms: at(0.99) };
};

/** Resident memory of a process, MB. */
export const memoryOf = (pid: number): number =>
  Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1_024);

export interface Flood {
  requests: number;
  accepted: number;
  refused: number;
  /** Neither: no answer, or another one. */
  others: number;
  /** The first of these, in words. */
  otherwise: string[];
  acceptedIds: string[];
  peakMb: number;
}

const OTHERWISE_SHOWN = 5;

/**
 * Sends that many single submits at once, over connections that were opened before: how many are
 * open together is the flood's size, not how fast its client connects.
 */
export const floodOf = async (url: string, requests: number, name: string, pid: number): Promise<Flood> => {
  const sockets = await openAll(url, requests);
  const flood: Flood = {
    requests,
    accepted: 0,
    refused: 0,
    others: 0,
    otherwise: [],
    acceptedIds: [],
    peakMb: memoryOf(pid),
  };
  const watch = setInterval(() => (flood.peakMb = Math.max(flood.peakMb, memoryOf(pid))), 200);
  await Promise.all(
    sockets.map(async (socket, i) => {
      const id = `${name}-${i}`;
      const tasks = [{ id, payload: { to: 'x' } }];
      const post = async (): Promise<Sent> => {
        if (socket instanceof Error) throw socket;
        return postOver(url, socket, '/v1/handlers/items/tasks', { tasks });
      };
      const { status, text } = await post().catch((error: unknown) => ({
        status: 0,
        text: String((error as Error).cause ?? error),
      }));
      if (status === 200) flood.acceptedIds.push(id);
      const kind = status === 200 ? 'accepted' : status === 503 || status === 429 ? 'refused' : 'others';
      flood[kind]++;
      if (kind === 'others' && flood.otherwise.length < OTHERWISE_SHOWN) flood.otherwise.push(`${status} ${text}`);
    }),
  );
  clearInterval(watch);
  flood.peakMb = Math.max(flood.peakMb, memoryOf(pid));
  return flood;
};
