import { violation } from './directions';
import { environmentReads, importsOf, sourceFiles } from './importScan';
import { read } from './project';

/** Build 1: the import directions, checked without eslint, so that neither a changed lint rule nor a disable comment hides one. */

const PROGRAM = ['workflows', 'activities', 'postgres', 'workers', 'client'];
const ENVIRONMENT_READERS = ['workers/config.ts', 'workers/embedded/paths.ts'];

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

test('Build 1: only workers/config.ts and embedded/paths.ts read the environment', () => {
  const readers = sourceFiles(PROGRAM).filter((file) => !ENVIRONMENT_READERS.includes(file));
  expect(readers.flatMap((file) => environmentReads(file, read(file)))).toEqual([]);
});

describe('a planted violation is reported', () => {
  test.each([
    ['workflows/planning/batches.ts', `import { z } from 'zod';`],
    ['workflows/planning/batches.ts', `import type { LeaderInput } from '../contracts';`],
    ['workflows/leader.ts', `import { claimBatches } from '../activities/claim';`],
    ['workflows/leader.ts', `import { type Activities, createActivities } from '../activities';`],
    ['workflows/leader.ts', `import { leaderInput } from './contracts';`],
    ['workflows/leader.ts', `import { randomUUID } from 'node:crypto';`],
    ['workflows/leader.ts', `import pg from 'pg';`],
    ['workflows/leader.ts', `import type { Pool } from '../postgres/pool';`],
    ['workflows/contracts.ts', `import { Client } from '@temporalio/client';`],
    ['workflows/nested/deep.ts', `export { submitBatches } from '../../activities/submit';`],
    ['postgres/task.ts', `import { defineHandler } from '../activities/handlers/types';`],
    ['postgres/task.ts', `import type { ActivityDeps } from '../activities/deps';`],
    ['postgres/task.ts', `import { leaderWorkflowId } from '../workflows/naming';`],
    ['activities/claim.ts', `import { leader } from '../workflows/leader';`],
    ['activities/claim.ts', `import { Submitter } from '../client/submit';`],
    ['activities/helperActivities.ts', `import { createClient } from '../client/client';`],
    ['activities/claim.ts', `const node = require('../workers/node');`],
    ['activities/claim.ts', `const lazy = () => import('../workers/node');`],
    ['activities/handlers/call.ts', `import type { ActivityDeps } from '../deps';`],
    ['activities/handlers/http/submit.ts', `import type { Pool } from '../../../postgres/pool';`],
    ['client/client.ts', `import { createNode } from '../workers/node';`],
    ['client/client.ts', `type Node = import('../workers/node').Node;`],
    ['client/client.ts', `import { claimBatches } from '../activities/claim';`],
    ['client/client.ts', `import { completeAccepted } from '../activities/complete';`],
    ['client/resolve.ts', `import type { Completion } from '../activities/completion';`],
    ['client/complete.ts', `import { settleOutcome } from '../activities/submission';`],
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
    ['postgres/handler.ts', `import type { Handler } from '../activities/handlers/types';`],
    ['activities/helperActivities.ts', `import { Submitter } from '../client/submit';`],
    ['activities/handlers/http/submit.ts', `import { HaltError } from '../errors';`],
    ['client/client.ts', `import { leaderWorkflowId } from '../workflows/naming';`],
    ['client/complete.ts', `import { completeAccepted } from '../activities/complete';`],
    ['client/cli/worker.ts', `import { createNode } from '../../workers/node';`],
    ['test/end-to-end/any.test.ts', `import { createNode } from '../../workers/node';`],
  ])('and an allowed import is not: %s: %s', (file, source) => {
    expect(violationsIn(file, source)).toEqual([]);
  });

  test('reads of the environment, in both spellings', () => {
    const source = `const a = process.env.HOME;\nconst b = process['env'];\nconst c = options.env;`;
    expect(environmentReads('client/x.ts', source)).toEqual(['client/x.ts:1', 'client/x.ts:2']);
  });
});
