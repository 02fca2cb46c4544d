import type { Worker } from '@temporalio/worker';
import { TaskWorkers } from '../../workers/temporal/taskWorkers';

const STATUS = { numInFlightActivities: 2, numInFlightWorkflowActivations: 0 };

/** A worker that runs until it is shut down. */
const running = (name: string, order: string[]): Worker => {
  let end = (): void => undefined;
  let state = 'INITIALIZED';
  const worker = {
    options: { taskQueue: name },
    getStatus: () => STATUS,
    getState: () => state,
    run: () => {
      state = 'RUNNING';
      order.push(`${name} runs`);
      return new Promise<void>((resolve) => (end = resolve));
    },
    shutdown: () => {
      state = 'STOPPED';
      order.push(`${name} ends`);
      end();
    },
  };
  return worker as unknown as Worker;
};
const logger = () => {
  const logged: unknown[] = [];
  const line = (...parts: unknown[]): void => void logged.push(parts);
  return { logged, log: { error: line, warn: line } };
};

test('a worker that fails is logged with what it had in progress; the others stop, it is reported', async () => {
  const failure = new Error('no end within its time');
  const order: string[] = [];
  const failing = {
    run: () => Promise.reject(failure),
    getStatus: () => STATUS,
    getState: () => 'FAILED',
    options: { taskQueue: 'leaders' },
  };
  const { logged, log } = logger();
  const makers = [running('other', order), failing as unknown as Worker].map((worker) => () => Promise.resolve(worker));
  const workers = await TaskWorkers.make(makers, log);
  await expect(workers.run(() => workers.shutdown())).rejects.toBe(failure);
  expect(order).toEqual(['other runs', 'other ends']);
  expect(logged).toEqual([[{ err: failure, taskQueue: 'leaders', status: STATUS }, 'a worker failed']]);
});

test('a replaced worker has ended before another works; one that cannot be made is tried again', async () => {
  const order: string[] = [];
  const { logged, log } = logger();
  let made = 0;
  const make = (): Promise<Worker> =>
    ++made === 2 ? Promise.reject(new Error('Temporal is away')) : Promise.resolve(running(`worker ${made}`, order));
  const workers = await TaskWorkers.make([make], log);
  const run = workers.run(() => undefined);
  // The second time comes while the first is under way.
  await Promise.all([workers.replace(() => undefined), workers.replace(() => undefined)]);
  expect(order).toEqual(['worker 1 runs', 'worker 1 ends', 'worker 3 runs']);
  expect(logged).toHaveLength(1);
  workers.shutdown();
  await run;
  expect(order.at(-1)).toBe('worker 3 ends');
});

test('a shutdown while a worker is replaced makes no other', async () => {
  const order: string[] = [];
  const workers = await TaskWorkers.make([() => Promise.resolve(running('only', order))], logger().log);
  const run = workers.run(() => undefined);
  const replaced = workers.replace(() => undefined);
  workers.shutdown();
  await Promise.all([run, replaced]);
  expect(order).toEqual(['only runs', 'only ends']);
});
