import { spawn } from 'node:child_process';
import path from 'node:path';
import { writeFileSync } from 'node:fs';
import { eventually } from '../helpers/eventually';

/**
 * A downstream in a separate process that accepts a batch and calls back later. `POST /jobs` with
 * the ids and the callback URL answers 202 and a job's number; `POST /jobs/<n>/tell` posts what it
 * is given to the callback of that job and answers what came back.
 */
const PROGRAM = `
const { createServer } = require('node:http');
const jobs = [];
let early = null;
const read = async (request) => { const parts = []; for await (const part of request) parts.push(part); return Buffer.concat(parts).toString(); };
const tell = async (job, body, headers = {}) => {
  try {
    const answer = await fetch(job.callback, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
    const text = await answer.text();
    return { status: answer.status, type: answer.headers.get('content-type'), retryAfter: answer.headers.get('retry-after'), body: text === '' ? null : JSON.parse(text) };
  } catch (error) { return { status: 0, error: String(error.cause ?? error) }; }
};
createServer(async (request, response) => {
  const text = await read(request);
  const send = (status, value) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (request.url === '/jobs' && request.method === 'POST') {
    const { ids, callback = request.headers['x-callback'], to } = JSON.parse(text);
    const job = { job: jobs.length + 1, ids, callback, to };
    jobs.push(job);
    if (to.startsWith('early')) job.first = await tell(job, JSON.stringify({ results: ids.map((id) => ({ id, status: 'ok' })) }));
    if (to.startsWith('soon')) {
      const results = ids.map((id) => ({ id, status: 'ok' }));
      tell(job, JSON.stringify({ results })).then((answer) => (job.first = answer));
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    return send(202, { job: { id: job.job } });
  }
  const told = /^\\/jobs\\/(\\d+)\\/tell$/.exec(request.url);
  if (told) return send(200, await tell(jobs[told[1] - 1], text));
  send(200, jobs);
}).listen(0, '127.0.0.1', function () { console.log('PORT ' + this.address().port); });
`;

interface Job {
  job: number;
  ids: string[];
  callback: string;
  to: string;
  /** What a callback in the call itself was answered. */
  first?: Told;
}
interface Told {
  /** 0: the connection broke. */
  status: number;
  type: string | null;
  retryAfter: string | null;
  body: Record<string, unknown>;
}
export interface CallbackDownstream {
  url: string;
  /** The job of a target, once it is there. */
  job(to: string, n?: number): Promise<Job>;
  /** Calls back: an object as JSON, a text as it is. */
  tell(job: Job, body: object | string): Promise<Told>;
  close(): void;
}

export const startCallbackDownstream = async (folder: string): Promise<CallbackDownstream> => {
  const file = path.join(folder, 'downstream.cjs');
  writeFileSync(file, PROGRAM);
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (text: Buffer) => (out += text.toString()));
  const port = await eventually(() => /PORT (\d+)/.exec(out)?.[1]);
  const url = `http://127.0.0.1:${port}`;
  const jobs = async (): Promise<Job[]> => (await (await fetch(`${url}/`)).json()) as Job[];
  return {
    url,
    job: (to, n = 1) =>
      eventually(async () => (await jobs()).filter((job) => job.to === to)[n - 1], {
        what: `job ${n} of ${to}`,
        timeoutMs: 60_000,
      }),
    tell: async ({ job }, body) =>
      (await (
        await fetch(`${url}/jobs/${job}/tell`, {
          method: 'POST',
          body: typeof body === 'string' ? body : JSON.stringify(body),
        })
      ).json()) as Told,
    close: () => void child.kill('SIGKILL'),
  };
};
