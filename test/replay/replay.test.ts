import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { bundleSource } from '../../workers/temporal/bundle';
import { executionScenarios } from './executionScenarios';
import { laneScenarios } from './laneScenarios';
import { nodeScenarios } from './nodeScenarios';
import { scenarios } from './scenarios';
import { signalScenarios } from './signalScenarios';

const FOLDER = path.join(__dirname, 'histories');
const files = readdirSync(FOLDER).sort();
Runtime.install({ logger: new DefaultLogger('ERROR') });

let bundle: WorkflowBundle;
beforeAll(async () => {
  bundle = await bundleWorkflowCode({
    ...bundleSource(),
    logger: new DefaultLogger('ERROR'),
  });
});
interface Recorded {
  events: { workflowExecutionStartedEventAttributes?: { workflowId: string } }[];
}
/** Under its own id, by which a monitor knows its handler. */
const replay = (workflowBundle: { code: string }, file: string): Promise<void> => {
  const history = JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8')) as Recorded;
  const { workflowId } = history.events[0]!.workflowExecutionStartedEventAttributes!;
  return Worker.runReplayHistory({ workflowBundle }, history, workflowId);
};

test.each(files)('the workflows of today replay %s', async (file) => {
  await replay(bundle, file);
});

test('every path has a stored history', () => {
  const recorded = new Set(files.map((file) => file.split('.')[0]));
  expect(
    [...scenarios, ...laneScenarios, ...executionScenarios, ...nodeScenarios, ...signalScenarios]
      .map(({ name }) => name)
      .filter((name) => !recorded.has(name)),
  ).toEqual([]);
  expect(files.some((file) => readFileSync(path.join(FOLDER, file), 'utf8').includes('CONTINUED_AS_NEW'))).toBe(true);
  expect(new Set(files.map((file) => file.split('.')[1]))).toEqual(
    new Set(['balancer', 'completion', 'execution', 'leader', 'monitor', 'notifier', 'queuer']),
  );
});

describe('a changed workflow fails the replay', () => {
  const changes: [string, string, string, string][] = [
    [
      'a timer before the first turn',
      'linger-flush.leader.0.json',
      'async takeTurn(turn) {',
      'async takeTurn(turn) { await this.wait(5);',
    ],
    ['no dispatch is started', 'size-flush.leader.0.json', 'if (answer.dispatch !== null)', 'if (false)'],
    [
      'no continue-as-new',
      files.find(
        (file) =>
          file.includes('.leader.') && readFileSync(path.join(FOLDER, file), 'utf8').includes('CONTINUED_AS_NEW'),
      )!,
      'return this.turn >= this.turnsPerRun',
      'return false',
    ],
    ['the balancer waits for nothing', 'partition-handover.balancer.0.json', 'again: dueInMs === 0', 'again: true'],
    [
      'no submitter is started',
      'lane-serial.queuer.0.json',
      'for (const submitter of answer.submitters)',
      'for (const submitter of [])',
    ],
    [
      'no chunk is sent',
      'execution-done.execution.0.json',
      'for (const chunk of response.chunks)',
      'for (const chunk of [])',
    ],
    ['what was signalled is not read', 'signals-read.monitor.0.json', 'await this.readOnce()', 'break'],
    [
      'what an earlier run left is not read',
      'signals-carried.monitor.0.json',
      '.unreadOf)(carried)',
      '.unreadOf)(null)',
    ],
    [
      'what an ended run left is not read',
      'monitor-terminated.completion.1.json',
      "if (typeof ended === 'string')",
      'if (false)',
    ],
    ['a completion is not taken', 'signals-read.completion.1.json', 'allSettled(handedOn.map(', 'allSettled([].map('],
  ];
  test.each(changes)('%s', async (_, file, from, to) => {
    expect(bundle.code.includes(from)).toBe(true); // toContain would print the bundle
    await expect(replay({ code: bundle.code.replace(from, to) }, file)).rejects.toThrow(
      /Nondeterminism|Non-?determin|TMPRL1100/i,
    );
  });
});
