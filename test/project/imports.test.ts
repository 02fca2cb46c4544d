import { violation } from './directions';
import { environmentReads, importsOf, sourceFiles } from './importScan';
import { read } from './project';

/**
 * Build 1: the import directions, checked without eslint, so that neither a changed lint rule nor a
 * disable comment hides one.
 */

const PROGRAM = ['workflows', 'handlers', 'activities', 'postgres', 'workers', 'client'];
const ENVIRONMENT_READERS = ['workers/config/config.ts', 'workers/embedded/paths.ts'];

const violationsIn = (file: string, source: string): string[] =>
  importsOf(file, source)
    .map(violation)
    .filter((found) => found !== null);

test('Build 1: every file of the program imports only in the directions of the layout (A20: the grouper knows no handler)', () => {
  const files = sourceFiles(PROGRAM);
  expect(files.length).toBeGreaterThan(80);
  const imports = files.flatMap((file) => importsOf(file, read(file)));
  expect(imports.length).toBeGreaterThan(files.length);
  expect(imports.map(violation).filter((found) => found !== null)).toEqual([]);
});

test('Build 1: only workers/config/config.ts and embedded/paths.ts read the environment', () => {
  const readers = sourceFiles(PROGRAM).filter((file) => !ENVIRONMENT_READERS.includes(file));
  expect(readers.flatMap((file) => environmentReads(file, read(file)))).toEqual([]);
});

describe('a planted violation is reported', () => {
  test.each([
    ['workflows/planning/grouping/batches.ts', `import { z } from 'zod';`],
    ['workflows/planning/grouping/batches.ts', `import type { LeaderInput } from '../../contracts';`],
    ['workflows/leader.ts', `import { claimBatches } from '../activities/grouping/claim';`],
    ['workflows/leader.ts', `import { type Activities, createActivities } from '../activities';`],
    ['workflows/leader.ts', `import { leaderInput } from './contracts';`],
    ['workflows/leader.ts', `import { randomUUID } from 'node:crypto';`],
    ['workflows/leader.ts', `import pg from 'pg';`],
    ['workflows/leader.ts', `import type { Pool } from '../postgres/pool';`],
    ['workflows/contracts.ts', `import { Client } from '@temporalio/client';`],
    ['workflows/nested/deep.ts', `export { submitBatches } from '../../activities/calls/dispatch';`],
    ['postgres/grouping/task.ts', `import { defineHandler } from '../../handlers/types';`],
    ['postgres/grouping/task.ts', `import type { ActivityDeps } from '../../activities/deps';`],
    ['postgres/grouping/task.ts', `import { leaderWorkflowId } from '../../workflows/naming';`],
    ['activities/grouping/claim.ts', `import { leader } from '../../workflows/leader';`],
    ['activities/grouping/claim.ts', `import { Submitter } from '../../client/tasks/accept';`],
    ['activities/grouping/workflowTasks.ts', `import { createClient } from '../../client/client';`],
    ['activities/grouping/claim.ts', `const node = require('../../workers/node');`],
    ['activities/grouping/claim.ts', `const lazy = () => import('../../workers/node');`],
    ['handlers/call.ts', `import type { ActivityDeps } from '../activities/deps';`],
    ['handlers/http/submit.ts', `import type { Pool } from '../../postgres/pool';`],
    ['client/client.ts', `import { createNode } from '../workers/node';`],
    ['client/client.ts', `type Node = import('../workers/node').Node;`],
    ['client/client.ts', `import { claimBatches } from '../activities/grouping/claim';`],
    ['client/client.ts', `import { completeAccepted } from '../activities/accepted/complete';`],
    ['client/operations/resolve.ts', `import type { Completion } from '../../activities/accepted/completion';`],
    ['client/operations/complete.ts', `import { settleOutcome } from '../../activities/calls/attempt';`],
    ['client/cli/main.ts', `import { helper } from '../../test/helpers/muster';`],
    ['workers/node.ts', `import { main } from '../client/cli/main';`],
    ['workers/api.ts', `import { report } from '../examples/demo/report';`],
  ])('%s: %s', (file, source) => {
    expect(violationsIn(file, source)).toHaveLength(1);
  });

  test.each([
    ['workflows/leader.ts', `import type { Activities } from '../activities';`],
    ['workflows/leader.ts', `import { type LeaderInput } from './contracts';`],
    ['workflows/leader.ts', `import { condition } from '@temporalio/workflow';`],
    ['workflows/leader.ts', `import { nextTurn } from './planning/turns';`],
    ['workflows/wake.ts', `import type { Client } from '@temporalio/client';`],
    ['postgres/grouping/handler.ts', `import type { Handler } from '../../handlers/types';`],
    ['activities/grouping/workflowTasks.ts', `import { Submitter } from '../../client/tasks/accept';`],
    ['handlers/http/submit.ts', `import { HaltError } from '../errors';`],
    ['client/client.ts', `import { leaderWorkflowId } from '../workflows/naming';`],
    ['client/operations/complete.ts', `import { completeAccepted } from '../../activities/accepted/complete';`],
    ['client/cli/run/worker.ts', `import { createNode } from '../../../workers/node';`],
    ['test/end-to-end/any.test.ts', `import { createNode } from '../../workers/node';`],
  ])('and an allowed import is not: %s: %s', (file, source) => {
    expect(violationsIn(file, source)).toEqual([]);
  });

  test('reads of the environment, in both spellings', () => {
    const source = `const a = process.env.HOME;\nconst b = process['env'];\nconst c = options.env;`;
    expect(environmentReads('client/x.ts', source)).toEqual(['client/x.ts:1', 'client/x.ts:2']);
  });
});
