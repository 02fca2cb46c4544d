import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../project/project';
import type { ApiWorld } from './world';
import { openWorld } from './world';

/**
 * A TypeScript client generated from the document: it compiles, strictly, and it works. Wrong uses
 * do not compile.
 */

const run = promisify(execFile);
let world: ApiWorld;
let folder: string;
beforeAll(async () => {
  world = await openWorld();
  folder = mkdtempSync(path.join(tmpdir(), 'muster-client-'));
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world.stop();
});

const PROGRAM = `
import createClient from 'openapi-fetch';
import type { paths } from './api';

const muster = createClient<paths>({ baseUrl: process.env.API! });
async function main(): Promise<void> {
  const sent = await muster.POST('/v1/handlers/{handler}/tasks', {
    params: { path: { handler: 'items' }, header: { 'Idempotency-Key': 'one' } },
    body: { tasks: [{ id: 'generated', payload: { to: 'se' } }] },
  });
  const accepted: number | undefined = sent.data?.accepted;
  const { data: task } = await muster.GET('/v1/tasks/{id}', { params: { path: { id: 'generated' }, query: { wait: 0 } } });
  const state: 'created' | 'batched' | 'in-progress' | 'unknown' | 'succeeded' | 'failed' | 'dead' | 'cancelled' | undefined = task?.state;
  const { data: fanout } = await muster.POST('/v1/fanouts', { body: { userKey: 'k' } });
  const { data: added } = await muster.POST('/v1/fanouts/{fanout}/items', { params: { path: { fanout: fanout!.id } }, body: { items: 3 } });
  const { error } = await muster.GET('/v1/executions/{execution}', { params: { path: { execution: fanout!.id } } });
  const code: string | undefined = error?.code;
  console.log(JSON.stringify({ accepted, state, items: added?.items, code }));
}
void main();
`;
const WRONG = `
import createClient from 'openapi-fetch';
import type { paths } from './api';
const muster = createClient<paths>({ baseUrl: '' });
// @ts-expect-error a task needs a payload
void muster.POST('/v1/handlers/{handler}/tasks', { params: { path: { handler: 'x' } }, body: { tasks: [{ id: 'x' }] } });
// @ts-expect-error there is no such path
void muster.GET('/v1/nobody');
// @ts-expect-error a page is a number
void muster.GET('/v1/lanes', { params: { query: { limit: 'ten' } } });
`;

test('HTTP API: a generated TypeScript client compiles against the document and works', async () => {
  const document = (await world.call('GET /openapi.json')).text;
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'openapi.json'), document);
  writeFileSync(path.join(folder, 'src', 'main.ts'), PROGRAM);
  writeFileSync(path.join(folder, 'src', 'wrong.ts'), WRONG);
  writeFileSync(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noUncheckedIndexedAccess: true,
        target: 'es2023',
        module: 'node16',
        moduleResolution: 'node16',
        rootDir: 'src',
        outDir: 'out',
        types: ['node'],
        skipLibCheck: true,
      },
      include: ['src'],
    }),
  );
  cpSync(path.join(ROOT, '.npmrc'), path.join(folder, '.npmrc'));
  const bin = (name: string): string => path.join(ROOT, 'node_modules', '.bin', name);
  await run(bin('openapi-typescript'), ['openapi.json', '-o', 'src/api.d.ts'], { cwd: folder });
  await run(bin('tsc'), ['-p', '.'], { cwd: folder }).catch((error: { stdout: string }) => {
    throw new Error(error.stdout);
  });
  const { stdout } = await run(process.execPath, ['out/main.js'], {
    cwd: folder,
    env: { ...process.env, API: world.api.url },
  });
  expect(JSON.parse(stdout)).toEqual({ accepted: 1, state: 'created', items: 3, code: 'NOT_FOUND' });
});

test('HTTP API: the document names every operation once, with a schema for every answer', async () => {
  const { paths, components } = (await world.call('GET /openapi.json')).body as {
    paths: Record<string, Record<string, { operationId: string; responses: Record<string, { content: object }> }>>;
    components: { schemas: object };
  };
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(world.api.routes.length);
  expect(
    operations.every(({ responses: { 431: _withoutBody, ...answers } }) =>
      Object.values(answers).every(({ content }) => content !== undefined),
    ),
  ).toBe(true);
  expect(JSON.stringify(paths)).not.toContain('$defs');
  expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(['Task', 'Fanout', 'Execution', 'Problem']));
});
