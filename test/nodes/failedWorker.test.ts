import type { Worker } from '@temporalio/worker';
import { runWorkers } from '../../workers/temporal/taskWorkers';

const STATUS = { numInFlightActivities: 2, numInFlightWorkflowActivations: 0 };

test('a worker that fails is logged with what it had in progress; the others stop, it is reported', async () => {
  const failure = new Error('no end within its time');
  const order: string[] = [];
  let end = (): void => undefined;
  const failing = { run: () => Promise.reject(failure), getStatus: () => STATUS, options: { taskQueue: 'leaders' } };
  const other = { run: () => new Promise<void>((resolve) => (end = resolve)) };
  const logged: unknown[] = [];
  const running = runWorkers([other, failing] as unknown as Worker[], {
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(void order.push('stop')),
    shutdown: () => {
      order.push('shutdown');
      end();
    },
    draining: new AbortController().signal,
    log: { error: (...line: unknown[]) => void logged.push(line) },
  });
  await expect(running).rejects.toBe(failure);
  expect(order).toEqual(['shutdown', 'stop']);
  expect(logged).toEqual([[{ err: failure, taskQueue: 'leaders', status: STATUS }, 'a worker failed']]);
});
