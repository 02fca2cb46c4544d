import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { ApiWorld } from '../../api/world';
import { items, openWorld } from '../../api/world';
import { snapshot } from '../../attacks/snapshot';
import { expectWhole } from '../../helpers/whole';
import { runProcess } from '../process';

/** `muster mcp` as a process, asked by the protocol's own client, against a real API. @slow */

const BIN = path.join(__dirname, '..', '..', '..', 'bin', 'muster.js');
let world: ApiWorld;
/** Made before the first request: the API reads them every two seconds. */
const tokens = { operator: '', reader: '', admin: '' };
const agents: Client[] = [];

beforeAll(async () => {
  world = await openWorld();
  tokens.operator = await world.token('read', 'operate');
  tokens.reader = await world.token('read');
  tokens.admin = await world.token('admin');
  await world.client.submit('items', items('a', '1', '2'));
});
afterAll(async () => {
  for (const agent of agents) await agent.close();
  await expectWhole(world.client);
  await world.stop();
});

/** Starts the server as an agent does. */
const start = async (token: string, ...args: string[]): Promise<Client> => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'muster-mcp-')), 'token');
  writeFileSync(file, `${token}\n`);
  const agent = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env['PATH']!, MUSTER_API_URL: world.api.url, MUSTER_API_TOKEN_FILE: file };
  await agent.connect(
    new StdioClientTransport({ command: process.execPath, args: [BIN, 'mcp', ...args], env, stderr: 'ignore' }),
  );
  agents.push(agent);
  return agent;
};

const call = async (agent: Client, name: string, given: Record<string, unknown>) => {
  const answer = await agent.callTool({ name, arguments: given });
  const [{ text }] = answer.content as [{ text: string }];
  return { isError: answer.isError === true, text, body: text.endsWith('}') ? JSON.parse(text) : null };
};

test('an agent looks, tries, and does: what it may not do, it is told', async () => {
  const agent = await start(tokens.operator);
  const { tools } = await agent.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['getOverview', 'explainTask', 'pauseHandler']));
  expect(names).not.toContain('submitTasks');
  expect(tools.find(({ name }) => name === 'pauseHandler')!.annotations).toMatchObject({ readOnlyHint: false });
  expect(agent.getInstructions()).toContain('dry run');

  const handler = await call(agent, 'getHandler', { handler: 'items' });
  expect(handler.body).toMatchObject({ handler: 'items', counts: { created: 2 } });

  const before = await snapshot(world.database);
  const tried = await call(agent, 'pauseHandler', { handler: 'items', body: { reason: 'by an agent' } });
  expect([tried.isError, tried.body]).toMatchObject([
    false,
    { dryRun: true, operation: 'pauseHandler', now: { counts: { created: 2 } } },
  ]);
  expect(await snapshot(world.database)).toBe(before);

  const given = { handler: 'items', body: { reason: 'by an agent' }, dryRun: false };
  expect((await call(agent, 'pauseHandler', given)).body).toEqual({ paused: true });
  expect((await world.client.status('items'))[0]).toMatchObject({ paused: { reason: 'by an agent' } });
  const entries = await world.client.audit.list(); // what was only tried is in no audit
  expect(entries).toMatchObject([{ verb: 'pause', subject: 'handler items', door: 'mcp', detail: given.body }]);
  expect(entries[0]!.who).toMatch(/^token 1 \(read operate\)$/);
  await world.client.resume('items');

  expect(await call(agent, 'submitTasks', { handler: 'items', body: { tasks: items('a', '9') } })).toMatchObject({
    isError: true,
    text: expect.stringContaining('no such tool'),
  });
  expect(await call(agent, 'getTask', { id: 'none' })).toMatchObject({ isError: true, body: { status: 404 } });
  expect(await call(agent, 'getTask', {})).toMatchObject({
    isError: true,
    text: expect.stringContaining('expected id'),
  });
});

test('with --read-only there is no tool that changes anything', async () => {
  const agent = await start(tokens.admin, '--read-only');
  const { tools } = await agent.listTools();
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  expect(tools.map(({ name }) => name)).toContain('listErrors');
});

test("the documents for users are its resources, those of Muster's inside are not", async () => {
  const agent = await start(tokens.reader);
  const { resources } = await agent.listResources();
  const uris = resources.map(({ uri }) => uri);
  expect(uris).toContain('muster:///docs/operations/runbook.md');
  expect(uris.filter((uri) => uri.includes('/internals/'))).toEqual([]);
  const { contents } = await agent.readResource({ uri: 'muster:///docs/operations/runbook.md' });
  expect(contents[0]).toMatchObject({ mimeType: 'text/markdown', text: expect.stringMatching(/^# Runbook/) });
  await expect(agent.readResource({ uri: 'muster:///docs/../package.json' })).rejects.toThrow('no such page');
});

test('a long answer is cut, and says how to ask for less', async () => {
  const agent = await start(tokens.reader);
  await world.client.submit('items', [{ id: 'large', payload: { to: 'l', note: 'x'.repeat(150_000) } }]);
  const { text } = await call(agent, 'getTask', { id: 'large' });
  expect(text.length).toBeLessThan(101_000);
  expect(text).toMatch(/\[cut after 100000 of 15\d{4} characters: ask for less, with a smaller limit\]$/);
});

test('no API, no token, no URL: the remedy, and exit code 3 or 2', async () => {
  const run = (env: Record<string, string>, ...args: string[]) =>
    runProcess(['mcp', ...args], { cwd: tmpdir(), env: { ...env } });
  const gone = await run({}, '--url', 'http://127.0.0.1:9');
  expect([gone.code, gone.stdout]).toEqual([3, '']);
  expect(gone.stderr).toMatch(/Cannot reach the API at http:\/\/127\.0\.0\.1:9: .*Start muster api or muster dev/);
  const refused = await run({ MUSTER_API_URL: world.api.url, MUSTER_API_TOKEN: 'wrong' });
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('muster token create')]);
  const noUrl = await run({ MUSTER_API_URL: 'file:///etc' });
  expect([noUrl.code, noUrl.stderr]).toEqual([
    2,
    expect.stringContaining('MUSTER_API_URL: expected an http or https URL'),
  ]);
});
