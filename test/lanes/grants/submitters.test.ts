import { monitorWorkflowId } from '../../../workflows/naming';
import { eventually } from '../../helpers/eventually';
import { reachesStatus } from '../../helpers/reachesStatus';
import { countOf } from '../../workflows/histories';
import type { OwnMuster } from '../../workflows/ownNode';
import { openOwn } from '../../workflows/ownNode';
import { Downstream, items, okay } from '../downstream';

/** The submitters of lanes: when they end, and what they cost. No sweeper. */

const slow = new Downstream();
const accepting = new Downstream();
let muster: OwnMuster;
beforeAll(async () => {
  accepting.answer = ({ id }) => ({ status: 'accepted', reference: `ref-${id}` });
  muster = await openOwn([
    slow.handler({ name: 'slow' }),
    accepting.handler({
      name: 'accepting',
      status: async (references) => references.map((reference) => ({ reference, status: 'pending' })),
      results: () => [],
      poll: { everyMs: 600_000, deadlineMs: 3_600_000 },
    }),
  ]);
  await muster.startNode();
});
afterAll(() => muster.stop());

const ended = (): Promise<unknown> =>
  eventually(async () => (await muster.database.pool.query('select from submitter')).rowCount === 0, {
    timeoutMs: 30_000,
    what: 'the end of the submitters',
  });

test('the monitor is signalled for the first batch that is accepted, and finds those after it by itself', async () => {
  const { client, prefix } = muster;
  const accept = async (service: string): Promise<void> => {
    const { batch } = await client.submitBatch('accepting', service, items(service));
    await reachesStatus(client, batch, 'pending');
    await ended(); // with all that they sent
  };
  const signals = async (): Promise<number> => {
    const monitor = (await client.temporal()).workflow.getHandle(monitorWorkflowId(prefix, 'accepting'));
    return countOf((await monitor.fetchHistory()).events ?? [], 'workflowExecutionSignaledEventAttributes');
  };
  await accept('a');
  expect(await signals()).toBe(1);
  for (const service of ['b', 'c']) await accept(service);
  expect(await signals()).toBe(1);
});

test('a submitter ends where a sign of life takes longer than the time between two', async () => {
  const { client, database } = muster;
  let letGo: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => (letGo = resolve));
  slow.answer = async (batch) => {
    await gone;
    return okay(batch);
  };
  await client.submitBatch('slow', 's', items('s'));
  await eventually(() => slow.inFlight === 1);
  const onSign = (does: string): Promise<unknown> =>
    database.pool.query(`create or replace function on_sign() returns trigger language plpgsql as
      $$ begin ${does} return new; end $$`);
  await onSign('perform pg_sleep(1.5);');
  await database.pool.query(
    'create trigger on_sign before update of expires_at on submitter for each row execute function on_sign()',
  );
  try {
    const signs = `select from pg_stat_activity where state = 'active' and datname = current_database()
      and query ~ 'update submitter' and pid <> pg_backend_pid()`;
    await eventually(async () => (await database.pool.query(signs)).rowCount! > 0, { what: 'a slow sign under way' });
    letGo();
    await ended();
  } finally {
    await onSign('');
  }
});
