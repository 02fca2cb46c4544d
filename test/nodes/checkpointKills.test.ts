import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import type { Checkpoint } from '../../handlers';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { NodeProcess } from './serveNode';

/**
 * Real processes that are killed and stopped: the next holder begins at the checkpoint.
 *
 * @full
 */

const SCRIPT = path.join(__dirname, '..', '..', 'dist', 'test', 'nodes', 'checkpointProcess.js');
/** Steps between two checkpoints of a process. */
const STEPS = 5;

const steps = defineHandler<{ shop: string }>({
  name: 'steps',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  affinity: { partitions: 1 },
  submit: () => Promise.resolve({ results: [] }),
});
interface Line {
  ready?: true;
  id?: string;
  from?: Checkpoint | null;
  step?: number;
  stored?: { step: number };
  refused?: string;
}
interface Child {
  id: string;
  said: Line[];
  signal(signal: NodeJS.Signals): void;
  exited: Promise<unknown>;
}

let database: TestDatabase;
let client: Client;
const children: Child[] = [];
beforeAll(async () => {
  database = await createDatabase();
  const temporal = { address: temporalAddress() };
  client = createClient({ databaseUrl: database.url, handlers: [steps], prefix: `cp-${database.name}`, temporal });
});
afterAll(async () => {
  for (const child of children) child.signal('SIGKILL');
  await Promise.all(children.map(({ exited }) => exited));
  await client.close();
  await database.drop();
});

const join = async (): Promise<Child> => {
  const settings: NodeProcess = {
    databaseUrl: database.url,
    address: temporalAddress(),
    prefix: `cp-${database.name}`,
    partitions: 1,
    nodes: { leaseMs: 1_500, maxLeaseMs: 30_000, shutdownLimitMs: 1_000, minimumHoldMs: 0 },
  };
  const process = fork(SCRIPT, [JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const said: Line[] = [];
  createInterface({ input: process.stdout! }).on('line', (line) => {
    if (line.startsWith('{')) said.push(JSON.parse(line) as Line);
  });
  const exited = once(process, 'exit');
  const child = { id: '', said, signal: (name: NodeJS.Signals) => void process.kill(name), exited };
  children.push(child);
  child.id = (await eventually(() => said.find(({ ready }) => ready))).id!;
  return child;
};
const partition = async () => (await client.partitions({ handler: 'steps' }))[0]!;
let shops = 0;
/** Work for the partition's holder, which begins where the last one was. */
const submit = async (): Promise<void> => {
  const n = ++shops;
  await client.submit('steps', [{ id: `task-${n}`, payload: { shop: `shop-${n}` } }]);
};
const begun = (child: Child): Promise<Checkpoint | null> =>
  eventually(() => child.said.find(({ from }) => from !== undefined)).then(({ from }) => from!);
const storedBy = (child: Child) => child.said.flatMap(({ stored }) => (stored === undefined ? [] : [stored]));
const stepsOf = (child: Child) => child.said.flatMap(({ step }) => (step === undefined ? [] : [step]));

test('after a kill the next holder begins at the checkpoint; one that was stopped and wakes is refused, and overwrites nothing', async () => {
  // Killed.
  const killed = await join();
  await submit();
  expect(await begun(killed)).toBeNull();
  await eventually(() => storedBy(killed).length >= 3);
  killed.signal('SIGKILL');
  await killed.exited;
  const stopped = await join();
  await submit();
  const first = (await begun(stopped))!;
  const at = (first.value as { step: number }).step;
  expect(at).toBeGreaterThanOrEqual(storedBy(killed).at(-1)!.step);
  expect(await eventually(() => stepsOf(stopped)[0])).toBe(at + 1);
  expect(stepsOf(killed).at(-1)! - at).toBeLessThanOrEqual(STEPS);
  await eventually(() => storedBy(stopped).length >= 1);

  // Stopped for longer than its lease.
  const heir = await join();
  stopped.signal('SIGSTOP');
  await eventually(async () => (await partition()).holder === heir.id);
  await submit();
  await begun(heir);
  await eventually(() => storedBy(heir).length >= 1);
  stopped.signal('SIGCONT');
  const { refused } = await eventually(() => stopped.said.find((line) => line.refused !== undefined));
  expect(refused).toBe('PartitionLostError');
  const { checkpoint, epoch } = await partition();
  expect(checkpoint).toMatchObject({ epoch });
  expect(epoch).toBeGreaterThan(first.epoch);
});
