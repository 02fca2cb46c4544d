import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './project';

/**
 * The rules of .dependency-cruiser.cjs, tried: each planted file breaks one and is reported under
 * its name. That the product keeps them is checked by `npm run lint:imports`.
 */

interface Violation {
  from: string;
  rule: { name: string };
  cycle?: { name: string }[];
}

/** Cruises a made-up project of these files; imported files that are not among them are empty. */
const violationsOf = async (files: Readonly<Record<string, string>>): Promise<Violation[]> => {
  const root = mkdtempSync(path.join(tmpdir(), 'muster-imports-'));
  try {
    for (const file of ['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json'])
      cpSync(path.join(ROOT, file), path.join(root, file));
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
    const write = (file: string, text: string): void => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      writeFileSync(path.join(root, file), text);
    };
    for (const [file, text] of Object.entries(files))
      for (const [, to] of text.matchAll(/'(\.[^']*)'/g)) {
        const target = `${path.posix.join(path.posix.dirname(file), to!)}.ts`;
        if (files[target] === undefined) write(target, 'export {};\n');
      }
    for (const [file, text] of Object.entries(files)) write(file, text);
    const cli = path.join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
    const folders = [...new Set(Object.keys(files).map((file) => file.split('/')[0]!))];
    const args = [cli, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...folders];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 64e6 });
    return (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations;
  } finally {
    rmSync(root, { recursive: true });
  }
};

const PLANTED: [rule: string, folder: string, source: string][] = [
  ['planning-is-pure', 'workflows/planning/grouping', `import { z } from 'zod';`],
  ['planning-is-pure', 'workflows/planning/grouping', `import type { LeaderInput } from '../../messages';`],
  ['workflow-values', 'workflows', `import { claimBatches } from '../activities/grouping/claim';`],
  ['workflow-values', 'workflows', `import { type Activities, createActivities } from '../activities/all';`],
  [
    'workflow-values',
    'workflows',
    `import type { A } from '../activities/all';\nimport { b } from '../activities/all';`,
  ],
  ['workflow-values', 'workflows', `import { laneView } from './contracts/lane';`],
  ['workflow-values', 'workflows', `import { randomUUID } from 'node:crypto';`],
  ['workflow-values', 'workflows', `import pg from 'pg';`],
  ['workflow-types', 'workflows', `import type { Pool } from '../postgres/pool';`],
  ['contracts-are-schemas', 'workflows/contracts', `import { Client } from '@temporalio/client';`],
  ['workflow-values', 'workflows/nested', `export { submitBatches } from '../../activities/submit';`],
  ['postgres-sees-types-of-handlers', 'postgres/grouping', `import { defineHandler } from '../../handlers/types';`],
  ['postgres-sees-handlers-types', 'postgres/grouping', `import type { Call } from '../../handlers/call';`],
  ['postgres-is-below', 'postgres/grouping', `import type { ActivityDeps } from '../../activities/deps';`],
  ['postgres-is-below', 'postgres/grouping', `import { leaderWorkflowId } from '../../workflows/naming';`],
  ['no-workflow-code', 'activities/grouping', `import { leader } from '../../workflows/leader';`],
  ['no-workflow-code', 'client/cli', `import { leader } from '../../workflows/leader';`],
  ['activities-below-client', 'activities/grouping', `import { TaskInserter } from '../../client/tasks/taskInserter';`],
  ['activities-below-client', 'activities/grouping', `const node = require('../../workers/node');`],
  ['activities-below-client', 'activities/grouping', `const lazy = () => import('../../workers/node');`],
  ['calls-below-lanes', 'activities/calls', `import { LaneHome } from '../lanes/home';`],
  ['calls-below-lanes', 'activities/calls', `import type { Moved } from '../../postgres/lanes/settle';`],
  ['calls-below-lanes', 'postgres/calls', `import { moveLaneBatch } from '../lanes/settle';`],
  ['handlers-are-a-leaf', 'handlers', `import type { ActivityDeps } from '../activities/deps';`],
  ['handlers-are-a-leaf', 'handlers/http', `import type { Pool } from '../../postgres/pool';`],
  ['client-below-workers', 'client', `import { createNode } from '../workers/node';`],
  ['client-below-workers', 'client', `type Node = import('../workers/node').Node;`],
  ['no-tests-in-product', 'client/cli', `import { helper } from '../../test/helpers/muster';`],
  ['page-is-apart', 'workers/dashboard', `import { startApi } from '../api/api';`],
  [
    'page-sees-types-of-contracts',
    'workers/dashboard',
    `import { overview } from '../../workflows/contracts/dashboard';`,
  ],
  ['page-is-built', 'workers/api', `import { duration } from '../dashboard/model/format';`],
  ['workers-below-cli', 'workers', `import { main } from '../client/cli/main';`],
  ['no-tests-in-product', 'workers', `import { report } from '../examples/demo/report';`],
  ['resolvable', 'client', `import nothing from 'not-a-package';`],
];

const ALLOWED: [folder: string, source: string][] = [
  ['workflows', `import type { Activities } from '../activities/all';`],
  ['workflows', `import { type LeaderInput } from './messages';`],
  ['workflows', `import { condition } from '@temporalio/workflow';`],
  ['workflows', `import { nextTurn } from './planning/turns';`],
  ['workflows', `import type { Client } from '@temporalio/client';`],
  ['postgres/grouping', `import type { Handler } from '../../handlers/types';`],
  ['activities/lanes', `import type { Home } from '../calls/call';`],
  ['handlers/http', `import { HaltError } from '../errors';`],
  ['client', `import { leaderWorkflowId } from '../workflows/naming';`],
  ['client/operations', `import { completeAccepted } from '../../activities/accepted/complete';`],
  ['client/cli/run', `import { createNode } from '../../../workers/node';`],
  ['test/end-to-end', `import { createNode } from '../../workers/node';`],
];

describe('every file of the program imports only what it may [A20 Build 1]', () => {
  let found: Map<string, string[]>;
  const fileOf = (folder: string, index: number): string => `${folder}/planted${index}.ts`;
  const sources = [...PLANTED.map(([, folder, source]) => [folder, source] as const), ...ALLOWED];
  beforeAll(async () => {
    const files = Object.fromEntries(sources.map(([folder, source], i) => [fileOf(folder, i), source]));
    found = new Map(Object.keys(files).map((file) => [file, []]));
    for (const { from, rule } of await violationsOf(files)) found.get(from)?.push(rule.name);
  });

  test.each(PLANTED.map(([rule, folder, source], i) => [rule, fileOf(folder, i), source]))(
    '%s reports %s: %s',
    (rule, file) => {
      expect(found.get(file)).toEqual([rule]);
    },
  );
  test.each(ALLOWED.map(([folder, source], i) => [fileOf(folder, PLANTED.length + i), source]))(
    'allowed: %s: %s',
    (file) => {
      expect(found.get(file)).toEqual([]);
    },
  );

  test('a circle is found, of types and through a third file too', async () => {
    const violations = await violationsOf({
      'client/a.ts': `import type { B } from './b';`,
      'client/b.ts': `import { c } from './rooms/c';`,
      'client/rooms/c.ts': `export { a } from '../a';`,
      'client/d.ts': `import { a } from './a';`,
    });
    const circles = violations.filter(({ rule }) => rule.name === 'no-circles');
    expect(circles.map(({ cycle }) => cycle!.map(({ name }) => name).sort())).toEqual([
      ['client/a.ts', 'client/b.ts', 'client/rooms/c.ts'],
    ]);
  });
});

test('the linter lets main.ts alone read the environment', async () => {
  const rulesOf = async (file: string): Promise<Record<string, unknown>> => {
    const eslint = path.join(ROOT, 'node_modules/eslint/bin/eslint.js');
    const { stdout } = await promisify(execFile)(process.execPath, [eslint, '--print-config', file], { cwd: ROOT });
    return (JSON.parse(stdout) as { rules: Record<string, unknown> }).rules;
  };
  const files = ['client/client.ts', 'workers/config/config.ts', 'client/cli/main.ts'];
  const [client, config, main] = await Promise.all(files.map(rulesOf));
  for (const restricted of [client!, config!])
    expect(restricted['no-restricted-properties']).toMatchObject([2, { object: 'process', property: 'env' }]);
  expect(main!['no-restricted-properties']).toBeUndefined();
});
