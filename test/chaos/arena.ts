import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createClient } from '../../client';
import type { Client } from '../../client';
import { bundleTo } from './processes/bundle';
import { Harness } from './harness';
import type { Scenario } from './scenario';
import { Servers } from './servers';
import { NO_TEMPORAL } from '../helpers/database';

/** Where a scenario is run: its servers, its processes, a client, a folder for their files. */
export interface Arena {
  servers: Servers;
  harness: Harness;
  client: Client;
  runDir: string;
}
export interface ArenaOptions {
  seed: number;
  /** The servers stay until Ctrl-C. */
  keep: boolean;
  log: (line: string) => void;
}

/**
 * Starts all of it, tells the outcome, ends all of it; the files stay where the run did not pass.
 * Returns whether it did.
 */
export const inArena = async (
  scenario: Scenario,
  { seed, keep, log }: ArenaOptions,
  run: (arena: Arena) => Promise<{ outcome: { passed: boolean }; table: string }>,
): Promise<boolean> => {
  const runDir = mkdtempSync(path.join(os.tmpdir(), 'muster-chaos-'));
  log(`seed ${seed}; files of the run: ${runDir}`);
  const [servers, bundle] = await Promise.all([Servers.start(runDir), bundleTo(path.join(runDir, 'bundle.js'))]);
  const client = createClient({ databaseUrl: servers.databaseUrl, temporal: NO_TEMPORAL });
  const harness = new Harness(servers, runDir, bundle, log, scenario);
  let passed = false;
  try {
    await harness.start();
    const { outcome, table } = await run({ servers, harness, client, runDir });
    ({ passed } = outcome);
    log(`${table}\n  of npm run test:chaos -- ${process.argv.slice(2).join(' ')}`);
    process.stdout.write(`${JSON.stringify(outcome)}\n`);
  } finally {
    if (keep) {
      log(`kept: ${servers.databaseUrl} and Temporal at ${servers.address}; Ctrl-C ends`);
      await new Promise((resolve) => process.once('SIGINT', resolve));
    }
    await harness.close();
    await client.close();
    await servers.stop();
    if (passed) rmSync(runDir, { recursive: true, force: true });
  }
  return passed;
};
