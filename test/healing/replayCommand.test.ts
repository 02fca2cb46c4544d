import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { CliResult } from '../cli/process';
import { runCli, runProcess } from '../cli/process';
import { endedRuns, historyOf, openRuns, replayHistories } from '../../workers/testing';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { TYPES } from './kinds';
import { otherVersion, PATIENT, TypeWorld } from './typeWorld';

/**
 * `muster replay`, over the open runs of every type of workflow, and over histories in files.
 *
 * @slow
 */

let world: TypeWorld;
let folder: string;
beforeEach(async () => {
  world = await TypeWorld.open(undefined, PATIENT);
  folder = mkdtempSync(path.join(tmpdir(), 'muster-replay-'));
});
afterEach(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

const options = () => ({
  cwd: folder,
  env: { TEMPORAL_ADDRESS: temporalAddress(), MUSTER_PREFIX: world.prefix },
});
const replay = (...args: string[]): Promise<CliResult> => runCli(['replay', ...args], options());
/** One of each type. */
const each = Object.fromEntries(TYPES.map((type) => [type, 1]));
/** Returns the open run of each type, each at rest. */
const allRest = async () => {
  await world.allWait();
  const runs = await Promise.all(TYPES.map((type) => world.openRun(type)));
  // A local activity answers before the workflow task that it belongs to is completed.
  for (const run of runs) await eventually(async () => (await run.describe()).raw.pendingWorkflowTask == null);
  return runs;
};
const save = async (name: string, change = (json: string): string => json): Promise<string> => {
  const json = historyToJSON(await world.handle('leader').fetchHistory());
  writeFileSync(path.join(folder, name), change(json));
  return name;
};

test('open runs of this version replay, of every type; nothing of them changes', async () => {
  await world.worker('one');
  const runs = await allRest();
  const lengthsOf = () => Promise.all(runs.map(async (run) => (await run.describe()).historyLength));
  const lengths = await lengthsOf();
  const json = await replay('--json');
  expect([json.code, json.json()]).toEqual([0, { ok: true, runs: TYPES.length, types: each, diverged: [] }]);
  const text = await runProcess(['replay'], options());
  expect([text.code, text.stderr]).toEqual([0, '']);
  expect(text.stdout).toMatch(/leader +│? *1 +│? *0/);
  expect(text.stdout).toContain(`This version continues ${TYPES.length} runs.`);
  expect(await lengthsOf()).toEqual(lengths);
});

test('open runs that another version has begun otherwise are told, each with its run; exit code 1', async () => {
  await world.worker('other', { bundle: await otherVersion('incompatible') });
  const runs = await allRest();
  const { code, stdout, ...answer } = await replay('--json');
  const { ok, diverged } = answer.json<{ ok: boolean; diverged: { runId: string; type: string; error: string }[] }>();
  expect([code, ok, diverged.map(({ type }) => type).sort()]).toEqual([1, false, [...TYPES].sort()]);
  expect(diverged.map(({ runId }) => runId).sort()).toEqual(runs.map(({ runId }) => runId).sort());
  for (const { error } of diverged) expect(error).toMatch(/nondeterminism/i);
  expect(stdout).toContain(world.prefix);
  expect((await replay()).stdout).toMatch(
    /This version does not continue \d runs: each would be ended and begun again/,
  );
});

test('ended runs only with --ended, and so many; without any it says so', async () => {
  expect((await replay()).stdout).toBe('No runs to replay: none is open, or none has made a decision yet.\n');
  await world.worker('one');
  await allRest();
  for (const type of TYPES) await world.handle(type).terminate();
  expect((await replay('--json')).json()).toMatchObject({ ok: true, runs: 0 });
  expect((await replay('--json', '--ended', '2')).json()).toMatchObject({ ok: true, runs: 2 });
  expect((await replay('--json', '--ended', '100')).json()).toMatchObject({ runs: TYPES.length, types: each });
});

test('histories in files, without a server; one that was changed diverges', async () => {
  await world.worker('one');
  await allRest();
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', MUSTER_PREFIX: world.prefix };
  const files = (...names: string[]): Promise<CliResult> =>
    runCli(['replay', '--json', ...names.flatMap((name) => ['--file', name])], { cwd: folder, env });
  const same = await save('same.json');
  expect((await files(same)).json()).toMatchObject({ ok: true, runs: 1, types: { leader: 1 } });
  const changed = await save('changed.json', (json) => json.replaceAll('core_local_activity', 'another_marker'));
  const answer = await files(changed);
  expect([answer.code, answer.json()]).toMatchObject([1, { runs: 1, diverged: [{ type: 'leader' }] }]);
});

test("a user's test replays open runs by temporal-muster/testing", async () => {
  await world.worker('one');
  await allRest();
  const sample = JSON.stringify(historyToJSON(await world.handle('queuer').fetchHistory()));
  expect(await replayHistories(openRuns(world.temporal, world.prefix))).toMatchObject({ ok: true, types: each });
  await world.handle('leader').terminate();
  expect(await replayHistories(endedRuns(world.temporal, world.prefix, 9))).toMatchObject({ types: { leader: 1 } });
  expect(await replayHistories([historyOf(JSON.parse(sample) as string, 'a text')])).toMatchObject({ runs: 1 });
});

const LATER_EVENTS = JSON.stringify({
  events: [{ eventId: '5', eventType: 'EVENT_TYPE_WORKFLOW_TASK_SCHEDULED', workflowTaskScheduledEventAttributes: {} }],
});
test('a run that the server deletes meanwhile is left out', async () => {
  await world.worker('one');
  await allRest();
  const { workflow, workflowService, options } = world.temporal;
  const gone = { execution: { workflowId: `${world.prefix}/leader/gone`, runId: randomUUID() }, status: 1 };
  const listWorkflowExecutions = async (request: object) => {
    const page = await workflowService.listWorkflowExecutions(request);
    return Object.assign(page, { executions: [gone, ...page.executions] });
  };
  const deleting = { workflow, options, workflowService: { listWorkflowExecutions } } as unknown as Client;
  expect(await replayHistories(openRuns(deleting, world.prefix))).toMatchObject({ ok: true, types: each });
});

test.each([
  ['no JSON', 'events', /Cannot read the history in bad\.json: .*JSON/],
  [
    'JSON of something else',
    '{"tasks": []}',
    /Cannot read the history in bad\.json: .*Expected the JSON of one history/,
  ],
  ['an end without its beginning', LATER_EVENTS, /Cannot read the history in bad\.json: its first/],
])('a file with %s is refused with the remedy; exit code 2', async (_what, content, says) => {
  writeFileSync(path.join(folder, 'bad.json'), content);
  const { code, stderr } = await replay('--file', 'bad.json');
  expect([code, stderr]).toEqual([2, expect.stringMatching(says)]);
  expect(stderr).toContain('temporal workflow show --output json');
});

test('without Temporal it says so at once; exit code 3', async () => {
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', MUSTER_PREFIX: world.prefix };
  const { code, stderr } = await runCli(['replay'], { cwd: folder, env });
  expect([code, stderr]).toEqual([3, expect.stringContaining('127.0.0.1:1')]);
});
