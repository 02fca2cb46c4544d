import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { InjectedSinks, WorkflowBundle } from '@temporalio/worker';
import { bundleSource } from '../../workers/temporal/bundle';
import type { AlarmSinks } from '../../workflows/loops/alarm';
import { allScenarios } from './allScenarios';
import { USER_WORKFLOWS } from './userScenarios';
import { bundleWorkflows } from '../helpers/userWorker';

const FOLDER = path.join(__dirname, 'histories');
const files = readdirSync(FOLDER).sort();
Runtime.install({ logger: new DefaultLogger('ERROR') });

let bundle: WorkflowBundle;
let userBundle: WorkflowBundle;
beforeAll(async () => {
  userBundle = await bundleWorkflows(USER_WORKFLOWS);
  bundle = await bundleWorkflowCode({
    ...bundleSource(),
    logger: new DefaultLogger('ERROR'),
  });
});
interface Recorded {
  events: { workflowExecutionStartedEventAttributes?: { workflowId: string; originalExecutionRunId: string } }[];
}
const isOfUser = (file: string): boolean => file.split('.')[1] === 'user';
const read = (file: string) => {
  const history = JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8')) as Recorded;
  const { workflowId, originalExecutionRunId } = history.events[0]!.workflowExecutionStartedEventAttributes!;
  return { history, workflowId, runId: originalExecutionRunId };
};
/** Under its own id, by which a monitor knows its handler. */
const replay = (workflowBundle: { code: string }, file: string): Promise<void> => {
  const { history, workflowId } = read(file);
  return Worker.runReplayHistory({ workflowBundle }, history, workflowId);
};
/** All of them on one worker, which takes a fifth of the time; errors by run. */
const replayAll = async (workflowBundle: { code: string }, some: readonly string[]): Promise<void> => {
  for await (const { runId, error } of Worker.runReplayHistories({ workflowBundle, sinks }, some.map(read)))
    errors.set(runId, error ?? null);
};
const errors = new Map<string, Error | null>();
/** Waits under a second for which a worker was asked to set an alarm. */
const alarms: number[] = [];
const sinks: InjectedSinks<AlarmSinks> = {
  alarm: {
    set: { fn: (_, ms) => void alarms.push(ms), callDuringReplay: true },
    clear: { fn: () => undefined, callDuringReplay: true },
  },
};

describe('the workflows of today replay every stored history', () => {
  beforeAll(async () => {
    await replayAll(
      bundle,
      files.filter((file) => !isOfUser(file)),
    );
    await replayAll(userBundle, files.filter(isOfUser));
  });

  test.each(files)('%s', (file) => {
    expect(errors.get(read(file).runId)).toBeNull();
  });

  test('none of them sets an alarm', () => {
    expect(alarms).toEqual([]);
  });

  test('each is a run of its own', () => {
    expect(errors.size).toBe(files.length);
  });
});

test('every path has a stored history', () => {
  const recorded = new Set(files.map((file) => file.split('.')[0]));
  expect(allScenarios.map(({ name }) => name).filter((name) => !recorded.has(name))).toEqual([]);
  expect(files.some((file) => readFileSync(path.join(FOLDER, file), 'utf8').includes('CONTINUED_AS_NEW'))).toBe(true);
  expect(new Set(files.map((file) => file.split('.')[1]))).toEqual(
    new Set(['balancer', 'completion', 'execution', 'leader', 'monitor', 'notifier', 'queuer', 'user']),
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
    [
      'a run of 0.1 has no timers',
      'user-in-turn-hourly.user.0.json',
      ".patched)('muster-one-rare-timer')",
      '.patched, true)',
    ],
    [
      'ends of calls during a turn are not noticed',
      'calls-end-during-turn.leader.0.json',
      'this.ended > ended',
      'this.ended > this.ended',
    ],
    ['a timer of its own for each wait', 'user-in-turn.user.0.json', 'this.begun++ === 0 ||', 'true ||'],
  ];
  test.each(changes)('%s', async (_, file, from, to) => {
    const { code } = isOfUser(file) ? userBundle : bundle;
    expect(code.includes(from)).toBe(true); // toContain would print the bundle
    await expect(replay({ code: code.replace(from, to) }, file)).rejects.toThrow(
      /Nondeterminism|Non-?determin|TMPRL1100/i,
    );
  });
});
