import { join } from 'node:path';
import { readDevFile, removeDevFile, writeDevFile } from '../../workers/dev/file';
import { DEFAULT_PREFIX } from '../../workflows/naming';
import type { Stack } from './stack';

/** Where the Web UI is and what to look at in it. */
export function lookAround({ temporal, downstream }: Stack, keep: boolean): string {
  const leaders = `${DEFAULT_PREFIX}/leader/index-city/0 and /1`;
  if (!keep) {
    return `To look around in the Web UI: npm run demo -- --keep (leaders are the workflows ${leaders}).`;
  }
  return [
    `Web UI      ${temporal.uiUrl}`,
    `            ${leaders}: each leads half of the countries. A run's summary and details tell its state;`,
    '            its history has one dispatch for many calls, and no task.',
    `downstream  ${downstream.url}/stats`,
    'muster      in another terminal, in this folder: npx muster status, npx muster task city-2988507, npx muster verify',
    'Ctrl-C ends everything.',
  ].join('\n');
}

/**
 * While `work` lasts, `npx muster` in this folder talks to the demo, unless a `muster dev` of this
 * folder has that place.
 */
export async function withDevFile(stack: Stack, work: () => Promise<void>): Promise<void> {
  const cwd = process.cwd();
  if (readDevFile(cwd) !== null) {
    return work();
  }
  writeDevFile(cwd, {
    pid: process.pid,
    databaseUrl: stack.databaseUrl,
    schema: 'muster',
    prefix: DEFAULT_PREFIX,
    temporal: { address: stack.temporal.address, namespace: 'default', uiUrl: stack.temporal.uiUrl },
    config: join(__dirname, 'muster.config.js'),
  });
  try {
    await work();
  } finally {
    removeDevFile(cwd);
  }
}
