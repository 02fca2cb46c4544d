import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Table from 'cli-table3';
import { numberFlag, processFlags, switchFlag } from '../../examples/support/flags';
import { defineHandler } from '../../handlers';
import { createClient, itemIds } from '../../client';
import type { Client } from '../../client';
import { startServers } from '../api/servers';
import { startCli } from '../cli/process';
import { createDatabase, temporalAddress } from '../helpers/database';
import type { Flood, Rate } from './measures/apiLoad';
import { floodOf, memoryOf, poster, rateOf } from './measures/apiLoad';
import { runToEnd } from '../helpers/runToEnd';
import { HeldReader } from './rig/heldReader';

/**
 * `npm run bench:api`: the HTTP API against the client library, in one run; then more open requests
 * than it takes.
 */
const flags = processFlags(
  {
    name: 'npm run bench:api --',
    summary:
      'Requests a second and latency of single submits, submits of 1,000 and acks of 1,000 through ' +
      'the HTTP API (a process of its own), against the client library in this process; then many ' +
      'more open requests than the API takes at once. On a real Postgres that flushes to disk.',
    result:
      'One line of JSON a measure on stdout, a table on stderr. Exit code 1 if something that was ' +
      'accepted is lost, or a request got another answer than 200 or 503, or memory grew by more ' +
      'than 250 MB, or by more than 150 bytes per request that is over.',
    examples: ['', '--short'],
  },
  {
    singles: numberFlag(5_000, { text: 'single submits of each side', min: 100 }),
    thousands: numberFlag(100, { text: 'submits and acks of 1,000 of each side', min: 5 }),
    open: numberFlag(10_000, { text: 'requests open at once', min: 500 }),
    short: switchFlag('300 singles, 6 thousands and 2,000 open, whatever else is said'),
  },
);
const { singles, thousands, open } = flags.short ? { singles: 300, thousands: 6, open: 2_000 } : flags;
const PARALLELISM = 16;
const PARALLEL_LARGE = 4;
const FLOODS = 10;
/** After these what grows once has grown: code, caches, the connections' buffers. */
const FIRST_FLOODS = 2;
/**
 * What a flood may need: 20 KB for each connection and its refusal, however often it comes, and
 * what any flood needs.
 */
const GROWTH_MB = 50 + 0.02 * open;
/**
 * What a request that is over may leave behind. Keeping the headers of each leaves 356, a timer of
 * each 392. Compiled code and its caches grow by 60 to 105 (Node 22 the most), ever more slowly: by
 * 20 after 50 floods.
 */
const LEFT_BYTES = 200;

const SETTINGS = `{ name: 'items', target: (item: { to: string }) => item.to, limits: { maxItems: 500 }, linger: { lingerMs: 3_600_000 }, submit: async () => ({ results: [] }) }`;
const handler = defineHandler<{ to: string }>({
  name: 'items',
  target: (item) => item.to,
  limits: { maxItems: 500 },
  linger: { lingerMs: 3_600_000 },
  submit: async () => ({ results: [] }),
});

const tasks = (name: string, n: number) =>
  Array.from({ length: n }, (_, i) => ({ id: `${name}-${i}`, payload: { to: `t${i % 10}` } }));

interface Side {
  submit(tasks: object[]): Promise<unknown>;
  ack(items: string[]): Promise<unknown>;
}
const overHttp = (url: string): Side & { close(): Promise<void> } => {
  const { post, close } = poster(url, PARALLELISM);
  const good = async (where: string, body: object): Promise<void> => {
    const { status, text } = await post(where, body);
    if (status !== 200) throw new Error(`${where}: ${status} ${text}`);
  };
  return {
    submit: (list) => good('/v1/handlers/items/tasks', { tasks: list }),
    ack: (items) => good('/v1/items:ack', { items }),
    close,
  };
};
const direct = (client: Client): Side => ({
  submit: (list) => client.submit(handler, list as { id: string; payload: { to: string } }[]),
  ack: (items) => client.ackItems(items, { idsPerCall: 10_000 }),
});

const measure = async (client: Client, name: string, side: Side): Promise<Record<string, Rate>> => {
  await rateOf(50, PARALLELISM, (call) => side.submit(tasks(`${name}-warm-${call}`, 1)));
  const single = await rateOf(singles, PARALLELISM, (call) => side.submit(tasks(`${name}-1-${call}`, 1)));
  const large = await rateOf(thousands, PARALLEL_LARGE, (call) => side.submit(tasks(`${name}-k-${call}`, 1_000)));
  const { id } = await client.openFanout();
  const added = [...itemIds(id, (await client.addItems(id, thousands * 1_000)).ranges)];
  const acks = await rateOf(thousands, PARALLEL_LARGE, (call) =>
    side.ack(added.slice(call * 1_000, (call + 1) * 1_000)),
  );
  return { 'single submit': single, 'submit of 1,000': large, 'ack of 1,000': acks };
};

/** From dist/ or from the sources. */
const program = (): string => {
  for (let at = __dirname; ; at = path.dirname(at)) {
    const file = path.join(at, 'bin', 'muster.js');
    if (existsSync(file)) return file;
  }
};

const main = async (): Promise<void> => {
  const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
  const stop = await startServers();
  const database = await createDatabase();
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'));
  writeFileSync(
    path.join(folder, 'muster.config.ts'),
    `import { defineHandler } from 'temporal-muster';\nexport const handlers = [defineHandler(${SETTINGS})];\n` +
      `export const api = { maxConnections: ${2 * open} };\n`,
  );
  const held = new HeldReader(path.join(folder, 'held.json'));
  const env = {
    MUSTER_DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporalAddress(),
    MUSTER_PREFIX: 'bench',
    ...held.env,
  };
  const api = startCli(['api', '--json', '--open', '--port', '0', '--log-level', 'error'], {
    cwd: folder,
    env,
    bin: program(),
  });
  const client = createClient({
    databaseUrl: database.url,
    prefix: 'bench',
    handlers: [handler],
    temporal: { address: temporalAddress() },
  });
  try {
    await api.says(/"ready":true.*\n/);
    const { url } = JSON.parse(api.stdout()) as { url: string };
    const http = overHttp(url);
    const library = await measure(client, 'library', direct(client));
    const served = await measure(client, 'http', http);
    await http.close();
    for (const what of Object.keys(library)) print({ measure: what, library: library[what], http: served[what] });
    const idleMb = memoryOf(api.child.pid!);
    const floods: Flood[] = [];
    const heldBytes: number[] = [];
    for (let i = 0; i < FLOODS; i++) {
      floods.push(await floodOf(url, open, `flood${i}`, api.child.pid!));
      heldBytes.push(await held.bytes(api.child.pid!));
    }
    const leftBytes = leftPerRequest(heldBytes);
    const lost = await lostOf(
      client,
      floods.flatMap(({ acceptedIds }) => acceptedIds),
    );
    const { ok: whole } = await client.verify({ full: true });
    const shown = floods.map(({ acceptedIds: _, ...flood }) => flood);
    const grewMb = Math.max(...floods.map(({ peakMb }) => peakMb)) - idleMb;
    const verdict = {
      measure: 'flood',
      open,
      idleMb,
      floods: shown,
      grewMb,
      heldBytes,
      leftBytes,
      lost,
      verify: whole,
      log: api.stderr(),
    };
    print(verdict);
    show(library, served, shown, idleMb);
    const isFlat = grewMb <= GROWTH_MB && leftBytes <= LEFT_BYTES;
    process.exitCode = lost === 0 && whole && isFlat && floods.every(({ others }) => others === 0) ? 0 : 1;
  } finally {
    api.child.kill('SIGTERM');
    await api.exit;
    await client.close();
    await database.drop();
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

/**
 * The slope of the line that fits what is held after each flood but the first: what a heap holds
 * differs by half a megabyte from flood to flood, whatever their size, which is more than a leak of
 * one short flood would be.
 */
const leftPerRequest = (heldBytes: readonly number[]): number => {
  const held = heldBytes.slice(FIRST_FLOODS);
  const mean = held.reduce((sum, bytes) => sum + bytes, 0) / held.length;
  const middle = (held.length - 1) / 2;
  const along = held.reduce((sum, bytes, i) => sum + (i - middle) * (bytes - mean), 0);
  const across = held.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  return Math.round(along / across / open);
};

const lostOf = async (client: Client, ids: readonly string[]): Promise<number> => {
  let found = 0;
  for (let i = 0; i < ids.length; i += 1_000) found += (await client.getTasks(ids.slice(i, i + 1_000))).length;
  return ids.length - found;
};

const show = (
  library: Record<string, Rate>,
  served: Record<string, Rate>,
  floods: readonly Omit<Flood, 'acceptedIds'>[],
  idleMb: number,
): void => {
  const table = new Table({
    head: ['', 'library /s', 'p50', 'p99 ms', 'HTTP /s', 'p50', 'p99 ms', 'share'],
    style: { head: [], border: [] },
  });
  for (const [what, a] of Object.entries(library)) {
    const b = served[what]!;
    table.push([what, a.perS, a.p50Ms, a.p99Ms, b.perS, b.p50Ms, b.p99Ms, `${Math.round((b.perS / a.perS) * 100)} %`]);
  }
  process.stderr.write(`${table.toString()}\n`);
  for (const { requests, accepted, refused, others, peakMb } of floods)
    process.stderr.write(
      `${requests} open at once: ${accepted} accepted, ${refused} refused (503), ${others} otherwise; memory ${peakMb} MB (idle ${idleMb})\n`,
    );
};

runToEnd(main);
