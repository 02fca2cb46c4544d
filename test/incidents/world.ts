import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Finding } from '../../workers/dashboard/model/finding';
import { findingsOf } from '../../workers/dashboard/model/findings';
import type { Overview } from '../../workflows/contracts/dashboard';
import type { CallApi } from '../api/world';
import { caller } from '../api/world';
import type { CliProcess } from '../cli/process';
import { killLeftovers, startCli } from '../cli/process';
import { makeFolder } from '../cli/world';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { freePort } from '../helpers/machine/freePort';
import type { Sample, Scrape } from './promql';
import { evaluate, scrapeOfAll } from './promql';
import { RULES } from './ruleTimeline';

interface Task {
  id: string;
  target: string;
}
/** What the downstream answers to a call: a status with a body, or nothing at all. */
type Answer = { status: number; body?: unknown; afterMs?: number } | 'lost' | 'hangs';
export const ok = (tasks: readonly Task[]): Answer => ({
  status: 200,
  body: tasks.map(({ id }) => ({ id, status: 'ok' })),
});

/** A user's installation as processes, in which something goes wrong. */
export interface IncidentWorld {
  call: CallApi;
  databaseUrl: string;
  downstreamUrl: string;
  /** Answers the calls of a handler from now on. */
  answer(handler: string, answer: (tasks: readonly Task[]) => Answer): void;
  worker(env?: Readonly<Record<string, string>>): Promise<CliProcess>;
  submit(handler: string, target: string, ...ids: string[]): Promise<void>;
  /** Changes rows, in place of waiting until they are as old. */
  plant(sql: string): Promise<void>;
  /** What `explain` says of a task, in one text. */
  explain(id: string): Promise<string>;
  stateOf(id: string): Promise<string>;
  /** What the dashboard's overview says is wrong. */
  findings(): Promise<string[]>;
  /** For which labels an alert fires, of what was scraped since the last `quiet`. */
  alerts(name: string): Promise<Sample['labels'][]>;
  /** Scrapes: what counters count from here on is new. */
  quiet(): Promise<void>;
  /** Returns what the API and all workers answer at `/metrics`. */
  scrape(): Promise<Scrape>;
  stop(): Promise<void>;
}

const CONFIG = `
import { defineHandler, HaltError } from 'temporal-muster';

const submit = (name) => async (batch, { signal }) => {
  const body = JSON.stringify(batch.tasks.map(({ id }) => ({ id, target: batch.target })));
  const answer = await fetch(process.env.DOWNSTREAM_URL + '/' + name, { method: 'POST', body, signal });
  if (answer.status === 401) throw new HaltError('401: the key was revoked');
  if (answer.status === 429) return { status: 'later', retryAfterMs: 3_000, error: 'too many requests' };
  if (answer.status === 202) return { status: 'accepted', reference: await answer.text() };
  return { results: await answer.json() };
};
const base = (name) => ({
  name,
  target: ({ to }) => to,
  limits: { maxItems: 50 },
  linger: { lingerMs: 50 },
  retry: { inPlace: { times: 0 } },
  submit: submit(name),
});
const handlers = [
  defineHandler(base('orders')),
  defineHandler({ ...base('ledger'), service: (target) => target, lane: { approach: 'serial' } }),
  defineHandler({ ...base('narrow'), linger: { lingerMs: 3_600_000 }, maxQueued: { perHandler: 3 } }),
  defineHandler(base('jobs')),
  defineHandler({ ...base('slow'), concurrency: { perHandler: 1 } }),
  defineHandler({ ...base('placed'), affinity: { partitions: 2, attributes: { zone: 'eu' } } }),
];
const beforeCall = async ({ target }) => {
  if (target !== 'hooked') return;
  const answer = await fetch(process.env.DOWNSTREAM_URL + '/budget', { method: 'POST', body: '[]' });
  if (!answer.ok) throw new Error('the service of budgets answers ' + answer.status);
};
export default {
  handlers,
  hooks: { beforeCall },
  callbacks: { allow: [process.env.DOWNSTREAM_URL], secret: process.env.HOOK_SECRET },
  nodes: { attributes: process.env.ZONE === undefined ? {} : { zone: process.env.ZONE } },
};
`;

export const openIncidents = async (): Promise<IncidentWorld> => {
  const folder = makeFolder();
  const database = await createDatabase();
  const answers = new Map<string, (tasks: readonly Task[]) => Answer>();
  const downstream = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const tasks = JSON.parse(Buffer.concat(chunks).toString()) as Task[];
      const made = (answers.get(request.url!.slice(1)) ?? ok)(tasks);
      if (made === 'lost') return request.socket.destroy();
      if (made === 'hangs') return;
      const text = typeof made.body === 'string' ? made.body : JSON.stringify(made.body ?? '');
      setTimeout(() => response.writeHead(made.status).end(text), made.afterMs ?? 0);
    });
  });
  await new Promise<void>((resolve) => downstream.listen(0, '127.0.0.1', resolve));
  const { port } = downstream.address() as AddressInfo;
  const env = {
    MUSTER_DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporalAddress(),
    MUSTER_PREFIX: `inc-${randomBytes(5).toString('hex')}`,
    DOWNSTREAM_URL: `http://127.0.0.1:${port}`,
    HOOK_SECRET: `whsec_${randomBytes(24).toString('base64')}`,
  };
  writeFileSync(path.join(folder, 'muster.config.mjs'), CONFIG);
  const api = startCli(['api', '--port', '0', '--open', '--json'], { cwd: folder, env });
  await api.says(/"ready":true/);
  const { url } = JSON.parse(api.stdout()) as { url: string };
  const call = caller(() => url);
  const metricsPorts: number[] = [];
  const scrape = async (): Promise<Scrape> => {
    const workers = metricsPorts.map(async (one) => {
      const answer = await fetch(`http://127.0.0.1:${one}/metrics`, { signal: AbortSignal.timeout(SCRAPE_MS) }).catch(
        () => null,
      );
      return [`worker:${one}`, answer === null ? '' : await answer.text()] as const;
    });
    return scrapeOfAll(new Map([['api', (await call('GET /metrics')).text], ...(await Promise.all(workers))]));
  };
  let before: Scrape = new Map();
  return {
    call,
    databaseUrl: database.url,
    downstreamUrl: env.DOWNSTREAM_URL,
    answer: (handler, answer) => void answers.set(handler, answer),
    worker: async (more = {}) => {
      const metricsPort = await freePort();
      metricsPorts.push(metricsPort);
      const worker = startCli(['worker', '--metrics-port', String(metricsPort)], {
        cwd: folder,
        env: { ...env, ...more },
      });
      await worker.says(/"msg":"ready"/);
      return worker;
    },
    submit: async (handler, target, ...ids) => {
      const tasks = ids.map((id) => ({ id, payload: { to: target } }));
      const answer = await call(`POST /v1/handlers/${handler}/tasks`, { body: { tasks } });
      if (answer.status !== 200) throw new Error(answer.text);
    },
    plant: async (sql) => void (await database.pool.query(sql)),
    explain: async (id) => (await call(`GET /v1/tasks/${id}/explain`)).text,
    stateOf: async (id) => ((await call(`GET /v1/tasks/${id}`)).body as { state: string }).state,
    findings: async () => {
      const overview = (await call('GET /dashboard/overview')).body as Overview;
      return findingsOf(overview).map(({ what, why }: Finding) => `${what}. ${why}`);
    },
    alerts: async (name) => {
      const rule = RULES.find((one) => one.alert === name);
      if (rule === undefined) throw new Error(`no alert ${name}`);
      return evaluate(rule.expr, before, await scrape()).map(({ labels }) => labels);
    },
    quiet: async () => void (before = await scrape()),
    scrape,
    stop: async () => {
      killLeftovers();
      downstream.closeAllConnections();
      downstream.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

/** As Prometheus waits by default; a process that stands still does not answer. */
const SCRAPE_MS = 10_000;
/** A worker that was killed counts as gone after 30 s, a wake as unanswered likewise. */
const SEEN_MS = 60_000;

/** What is to be seen of an incident, and by whom. */
export interface Signs {
  /** The alert, and a label by which it names what it is about. */
  alert: readonly [name: string, labels: Record<string, string>];
  /** On the dashboard's first page; left out: it says nothing. */
  finding?: RegExp;
  explain?: readonly [task: string, says: RegExp];
}

/** Waits until the incident is seen everywhere. */
export const expectSeen = async (world: IncidentWorld, { alert, finding, explain }: Signs): Promise<void> => {
  if (explain !== undefined) await untilSaid(() => world.explain(explain[0]), explain[1]);
  if (finding !== undefined) await untilSaid(world.findings, finding);
  const [name, labels] = alert;
  await eventually(async () => await firing(world, name, labels), {
    timeoutMs: SEEN_MS,
    everyMs: 500,
    what: async () => `${name} to fire; it fires for ${JSON.stringify(await world.alerts(name))}`,
  });
};

/** Waits until nothing of it is seen any more. */
export const expectOver = async (world: IncidentWorld, { alert, finding }: Signs): Promise<void> => {
  const isFound = async (): Promise<boolean> =>
    finding !== undefined && (await world.findings()).some((one) => finding.test(one));
  await eventually(async () => !(await isFound()), { timeoutMs: 60_000, what: () => `an end of ${finding}` });
  const [name, labels] = alert;
  await world.quiet(); // what was counted before is old
  await eventually(async () => !(await firing(world, name, labels)), {
    timeoutMs: 60_000,
    everyMs: 500,
    what: () => `an end of ${name}`,
  });
};

/** Does what ends an incident. */
export const act = async (world: IncidentWorld, route: string, body: unknown = {}): Promise<void> => {
  const answer = await world.call(route, { body });
  if (answer.status >= 300) throw new Error(`${route}: ${answer.text}`);
};

/** Waits until a task has come to this state. */
export const ends = (world: IncidentWorld, id: string, state: string): Promise<unknown> =>
  eventually(async () => (await world.stateOf(id)) === state, {
    timeoutMs: 60_000,
    what: async () => `${id} to be ${state}; it is ${await world.stateOf(id)}`,
  });

const firing = async (world: IncidentWorld, name: string, labels: Record<string, string>): Promise<boolean> =>
  (await world.alerts(name)).some((one) => Object.entries(labels).every(([key, value]) => one[key] === value));

/** Waits until a text is seen; fails with what was seen last. */
const untilSaid = async (look: () => Promise<string | readonly string[]>, pattern: RegExp): Promise<void> => {
  let seen: string[] = [];
  await eventually(
    async () => {
      seen = [await look()].flat();
      return seen.some((one) => pattern.test(one));
    },
    { timeoutMs: SEEN_MS, everyMs: 200, what: () => `${pattern}; it said: ${seen.join('\n')}` },
  );
};
