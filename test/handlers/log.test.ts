import { ModuleProcesses, makeExecutor } from '../../activities/executions/executors';
import { cancelReference, defineHandler, pollReferences, readReference, reconcileOutcome } from '../../handlers';
import { defineFunction } from '../../handlers/functions';
import { boundLog, SILENT_LOG } from '../../handlers/logging/boundLog';
import type { CallLog, DownstreamContext, LogLine } from '../../handlers/contract';
import { certifyHandler } from '../../handlers/trials';
import { batchOf, buildContext, options, remember } from './build';
import { indexer } from './trials/indexer';

/** What handlers and functions log by their context. */

const recorder = () => {
  const lines: unknown[][] = [];
  const line =
    (level: string): LogLine =>
    (...given: unknown[]) =>
      void lines.push([level, ...given]);
  const log: CallLog = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  return { lines, log };
};

test('a bound logger adds its fields to each kind of line, and no line replaces them', () => {
  const { lines, log } = recorder();
  const bound = boundLog(log, { batch: 7 });
  const error = new Error('no');
  bound.debug('alone');
  bound.info({ rows: 3, batch: 'mine' }, 'with fields');
  bound.warn(error, 'with an error');
  bound.error({ rows: 4 });
  expect(lines).toEqual([
    ['debug', { batch: 7 }, 'alone'],
    ['info', { batch: 7, rows: 3 }, 'with fields'],
    ['warn', { batch: 7, err: error }, 'with an error'],
    ['error', { batch: 7, rows: 4 }, undefined],
  ]);
});

test('a console and a log that is silent are loggers', () => {
  const all: CallLog[] = [console, SILENT_LOG];
  expect(all.map(({ info }) => typeof info)).toEqual(['function', 'function']);
});

test('look-ups, polls, results and cancellations get the logger of their caller', async () => {
  const { lines, log } = recorder();
  const note = (name: string, { log: given }: DownstreamContext): void => given.info(name);
  const handler = defineHandler(
    options(() => undefined, {
      reconcile: async (_, context) => (note('reconcile', context), { status: 'unsure' }),
      status: async (_, context) => (note('status', context), []),
      results: (_, context) => (note('results', context), []),
      cancel: async (_, context) => (note('cancel', context), { status: 'cancelled' }),
    }),
  );
  const context = buildContext({ log });
  await reconcileOutcome(handler, batchOf(1), context, remember());
  await pollReferences(handler, ['r'], context);
  await readReference(handler, 'r', batchOf(1).tasks, context, remember());
  await cancelReference(handler, 'r', context);
  expect(lines).toEqual(['reconcile', 'status', 'results', 'cancel'].map((name) => ['info', name]));
});

test('a function logs with the execution and the place of its item', async () => {
  const { lines, log } = recorder();
  const resize = defineFunction({ name: 'resize', run: ([file], call) => call.log.info({ file }, 'resized') });
  const source = { functions: new Map([['resize', resize]]), functionStore: null, memoryBytes: 65_536, httpAllow: [] };
  const limits = { stdoutBytes: 100, stderrBytes: 100 };
  const make = { functionId: 'resize', method: 'run', concurrency: 1, limits };
  const executor = await makeExecutor(source, new ModuleProcesses(), make, log);
  const { signal } = new AbortController();
  const call = { method: 'run', env: {}, position: 3, executionId: 'e-1', signal };
  expect(await executor.run(['a.png'], call)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  const fields = { function: 'resize', method: 'run', execution: 'e-1', position: 3, file: 'a.png' };
  expect(lines).toEqual([['info', fields, 'resized']]);
});

test('a handler that logs is certified', async () => {
  const right = indexer();
  const logging = {
    ...right,
    submit: (...[batch, context]: Parameters<typeof right.submit>) => {
      context.log.debug({ tasks: batch.tasks.length }, 'calling');
      return right.submit(batch, context);
    },
  };
  expect((await certifyHandler(logging)).certified).toBe(true);
});
