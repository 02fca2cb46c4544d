import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '../../client';
import type { ResultDocument } from '../../client';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { startChild } from '../support/child';
import { Cleanup } from '../support/cleanup';
import { createStore } from '../support/database';
import { numberFlag, processFlags } from '../support/flags';
import { runMain } from '../support/server';
import { assemble, storeModule } from './build';

/**
 * A WebAssembly module, made here from its text, run once for each of 20 URLs on 4 node processes,
 * all real. The result document goes to stdout (E13), what a person wants to know to stderr. Ends
 * with exit code 1 unless every exit code is 0.
 */
const flags = processFlags(
  {
    name: 'npm run example:wasm-echo --',
    summary: 'A WebAssembly module, made here from its text, run once for each item on node processes, all real.',
    result: 'The result document (JSON) goes to stdout, progress to stderr. Exit code 1 unless every exit code is 0.',
    examples: ['', '--nodes 2 --items 8'],
  },
  {
    nodes: numberFlag(4, { text: 'node processes', min: 1, max: 16 }),
    items: numberFlag(20, { text: 'items, each one run of the module', min: 1 }),
  },
);
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The module's text lies beside this file's source: dist/ holds what was compiled only. */
const WAT = path.join(__dirname, '..', '..', '..', 'examples', 'wasm-echo', 'echo.wat');

async function main(): Promise<void> {
  const cleanup = new Cleanup();
  try {
    const document = await run(cleanup);
    process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
    const codes = Object.values(document.chunks).flatMap(({ results }) =>
      Object.values(results).map(({ result }) => result.exit_code),
    );
    say(`${codes.length} results in ${Object.keys(document.chunks).length} chunks`);
    process.exitCode = codes.length === flags.items && codes.every((code) => code === 0) ? 0 : 1;
  } finally {
    await cleanup.run();
  }
}

async function run(cleanup: Cleanup): Promise<ResultDocument> {
  const store = mkdtempSync(path.join(tmpdir(), 'muster-functions-'));
  cleanup.add('function store', async () => rmSync(store, { recursive: true }));
  const functionId = storeModule(store, 'echo.wasm', await assemble('echo.wat', readFileSync(WAT, 'utf8')));
  say(`echo.wasm is ${functionId}`);
  const [postgres, temporal] = await Promise.all([
    startPostgres({ settings: { fsync: 'off' } }).then(
      (server) => (cleanup.add('Postgres', () => server.stop()), server),
    ),
    startTemporalDev({ ui: false }).then((server) => (cleanup.add('Temporal', () => server.stop()), server)),
  ]);
  const databaseUrl = await createStore(postgres.url, 'muster');
  const nodes = await Promise.all(
    Array.from({ length: flags.nodes }, () =>
      startChild(path.join(__dirname, 'node.js'), ['--temporal', temporal.address, '--store', store], {
        env: { MUSTER_DATABASE_URL: databaseUrl },
        readyMs: 90_000,
      }),
    ),
  );
  for (const node of nodes) cleanup.add(`node ${node.pid}`, () => node.stop());
  const client = createClient({ databaseUrl, temporal: { address: temporal.address } });
  cleanup.add('client', () => client.close());
  const urls = Array.from({ length: flags.items }, (_, i) => [
    `https://example.com/dir1/dir2/resource/some-random-slug-${i}`,
  ]);
  const begun = performance.now();
  const execution = await client.execute(
    { functionId, method: 'echo.wasm', config: { numberOfNodes: flags.nodes } },
    urls,
  );
  say(`execution ${execution.id}: accepted after ${Math.round(performance.now() - begun)} ms`);
  const view = await execution.wait({ timeoutMs: 120_000 });
  say(`${view.state} after ${Math.round(performance.now() - begun)} ms`);
  return execution.results();
}

runMain(main);
