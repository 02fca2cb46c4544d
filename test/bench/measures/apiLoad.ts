import { execFileSync } from 'node:child_process';
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

/** That many single submits open at once. */
export const floodOf = async (url: string, requests: number, name: string, pid: number): Promise<Flood> => {
  const { post, close } = poster(url, requests);
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
    Array.from({ length: requests }, async (_, i) => {
      const id = `${name}-${i}`;
      const { status, text } = await post('/v1/handlers/items/tasks', { tasks: [{ id, payload: { to: 'x' } }] }).catch(
        (error: unknown) => ({ status: 0, text: String((error as Error).cause ?? error) }),
      );
      if (status === 200) flood.acceptedIds.push(id);
      const kind = status === 200 ? 'accepted' : status === 503 || status === 429 ? 'refused' : 'others';
      flood[kind]++;
      if (kind === 'others' && flood.otherwise.length < OTHERWISE_SHOWN) flood.otherwise.push(`${status} ${text}`);
    }),
  );
  clearInterval(watch);
  flood.peakMb = Math.max(flood.peakMb, memoryOf(pid));
  await close();
  return flood;
};
