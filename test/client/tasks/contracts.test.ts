import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';

import { createClient, defineContract, defineHandler } from '../../../client';
import type { World } from '../../cli/world';
import { createWorld } from '../../cli/world';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import { read, ROOT } from '../../project/project';

/** The example of docs/handlers/typescript.md: a shop that submits by the contract alone. @slow */

const EXAMPLE = /```ts\n\/\/ ([\w.]+\.ts)\b[^]*?```/g;
const files = new Map(
  [...read('docs/handlers/typescript.md').matchAll(EXAMPLE)]
    .map(([block, name]) => [name!, block.slice('```ts\n'.length, -'```'.length)] as const)
    .filter(([name, text]) => name !== 'muster.config.ts' || text.includes('implement(')),
);
const compiled = (name: string): string => {
  const { outputText } = ts.transpileModule(files.get(name)!, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  return outputText;
};

let world: World;
beforeAll(async () => {
  world = await createWorld();
  mkdirSync(path.join(world.folder, 'node_modules'));
  symlinkSync(ROOT, path.join(world.folder, 'node_modules/temporal-muster'));
  for (const name of ['zod', 'undici'])
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(world.folder, 'node_modules', name));
  world.write('muster.config.ts', files.get('muster.config.ts')!);
  for (const name of ['orders.contract', 'shop']) world.write(`${name}.js`, compiled(`${name}.ts`));
  world.write(
    'loaded.js',
    `const packageOf = (file) => /.*node_modules.((?:@[^/]+.)?[^/]+)/.exec(file)?.[1] ?? require('path').basename(file);
     process.on('exit', () => console.log(JSON.stringify([...new Set(Object.keys(require.cache).map(packageOf))])));`,
  );
});
afterAll(() => world.close());

/** Runs the shop as a process; answers what it says, and which packages and own files it loaded. */
const shop = async (id: string): Promise<{ said: string; loaded: string[] }> => {
  const { stdout } = await promisify(execFile)(process.execPath, ['-r', './loaded.js', 'shop.js', id], {
    cwd: world.folder,
    env: { ...process.env, ...world.env },
  });
  const [said, loaded] = stdout.trim().split('\n');
  return { said: said!, loaded: JSON.parse(loaded!) as string[] };
};

const timeoutMs = async (): Promise<unknown> => {
  const { rows } = await world.database.pool.query<{ ms: number }>({
    text: `select timeout_ms::int as ms from handler where name = 'orders'`,
  });
  return rows[0]?.ms;
};

const arrived = (): string[] => world.downstream.calls.flatMap(({ ids }) => ids);

test('a shop with only the contract loads neither an HTTP client nor an SDK, and its orders arrive', async () => {
  const { said, loaded } = await shop('order-1');
  expect(said).toBe('accepted 1');
  expect(loaded).toEqual(expect.arrayContaining(['orders.contract.js', 'pg', 'zod']));
  expect(
    loaded.filter((name) =>
      /^(undici|fastify|ajv.*|@aws-sdk.*|@temporalio.(worker|core-bridge)|muster.config.*)$/.test(name),
    ),
  ).toEqual([]);
  expect(await timeoutMs()).toBe(30_000);

  await world.worker();
  await eventually(async () => arrived().length === 1);
  expect(await timeoutMs()).toBe(5_000);

  // The contract knows no time limit: the one of the worker stays.
  expect((await shop('order-2')).said).toBe('accepted 1');
  expect(await timeoutMs()).toBe(5_000);
  await eventually(async () => arrived().length === 2);
  expect(arrived()).toEqual(['order-1', 'order-2']);
});

describe('a client that is given contracts', () => {
  const limits = { maxItems: 3, maxBytes: 60 };
  const plain = defineContract({
    name: 'plain',
    target: (to: { to: string; n: number }) => to.to,
    weightOf: ({ n }) => n,
    distinctBy: ({ to }) => `key of ${to}`,
    limits: { ...limits, maxWeight: 10 },
  });
  const ordered = defineContract({ name: 'ordered', target: (to: { to: string }) => to.to, limits, lane: {} });
  const open = (handlers: readonly (typeof plain | typeof ordered)[]) =>
    createClient({
      databaseUrl: world.database.url,
      prefix: world.env['MUSTER_PREFIX']!,
      temporal: { address: world.env['TEMPORAL_ADDRESS']! },
      handlers,
    });

  test('checks and computes by them, in and out of a transaction of the caller', async () => {
    const client = open([plain, ordered]);
    const refused = client.submit(plain, { id: 'p0', payload: { to: 'x', n: 11 } });
    await expect(refused).rejects.toMatchObject({ code: 'TASK_TOO_HEAVY' });
    await expect(client.submit(plain, { id: 'p0', payload: { to: 'x'.repeat(60), n: 1 } })).rejects.toMatchObject({
      code: 'TASK_TOO_LARGE',
    });
    const connection = await world.database.pool.connect();
    await connection.query('begin');
    await client.submit(plain, { id: 'p1', payload: { to: 'se', n: 2 } }, { tx: connection });
    await connection.query('commit');
    connection.release();
    const { rows } = await world.database.pool.query({
      text: `
select t.id, g.key as target, t.weight, t.key, t.bytes
from task t join target g on g.id = t.target_id
where t.id = 'p1'`,
    });
    expect(rows).toEqual([{ id: 'p1', target: 'se', weight: 2, key: 'key of se', bytes: 17 }]);
    const [batch] = await client.batches.submitMany(ordered, [
      { service: 's', items: [{ id: 'o1', payload: { to: 'a' } }] },
    ]);
    const other = await client.batches.submit(ordered, 's', [{ id: 'o2', payload: { to: 'a' } }]);
    expect(other.batch).toBeGreaterThan(batch!.batch);
    await expectWhole(client);
    await client.close();
  });

  test('checks the types of payloads', async () => {
    const client = open([plain, ordered]);
    // @ts-expect-error: `to` is text
    const wrong = () => client.batches.submit(ordered, 's', [{ id: 'o3', payload: { to: 1 } }]);
    // @ts-expect-error: `n` is missing
    const short = () => client.submit(plain, { id: 'p3', payload: { to: 'x' } });
    expect([wrong, short]).toHaveLength(2);
    await client.close();
  });

  test('takes one that is not in its list, and none in place of a handler', async () => {
    const client = open([]);
    const away = defineHandler({ name: 'away', target: () => 'a', limits, submit: async () => ({ results: [] }) });
    expect((await client.submit(plain, { id: 'p4', payload: { to: 'no', n: 1 } })).accepted).toBe(1);
    expect((await client.submit(away, { id: 'a1', payload: null })).accepted).toBe(1);
    await expect(client.submit('plain', { id: 'p5', payload: {} })).rejects.toMatchObject({ code: 'UNKNOWN_HANDLER' });
    await client.close();
    const listed = open([plain]);
    await expect(listed.complete('plain', { batchId: 1, results: [] })).rejects.toThrow(
      /handler: expected a handler, which says what becomes of results, got "?the contract/,
    );
    await listed.close();
  });
});
