import { flushReasonName, taskStateName } from '../../../workflows/planning/states';
import type { Pool } from '../../../postgres/pool';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { Clock } from '../../postgres/ring-protocol/tools/clock';
import { LaneWorld } from './replayed';
import type { LaneVerbs } from './play';
import { playSteps } from './play';
import type { LaneScenario, LaneStory } from './scenario';
import { laneHandlerOf, withoutNumbers } from './scenario';

/** Plays a scenario of lanes on the real store, on a database of its own. */
export const replayedLanes = async (scenario: LaneScenario): Promise<LaneStory> => {
  const database = await createDatabase({ max: 10 });
  try {
    return await play(scenario, database);
  } finally {
    await database.drop();
  }
};

const play = async (scenario: LaneScenario, database: TestDatabase): Promise<LaneStory> => {
  const clock = await Clock.create(database.pool);
  const begunMs = clock.nowMs();
  const { handler, downstream, calls } = laneHandlerOf(scenario, () => clock.nowMs() - begunMs);
  const world = await LaneWorld.open(database, clock, handler, scenario);
  const { client } = world;
  const name = handler.name;
  const verbs: LaneVerbs = {
    submit: (tasks) => world.doing(() => client.submit(handler, tasks)),
    submitBatches: (batches) => world.doing(() => client.batches.submitMany(handler, batches)),
    complete: (told) => world.doing(() => client.complete(name, told as Parameters<typeof client.complete>[1])),
    cancel: (batch) => world.doing(() => client.batches.cancel(batch)),
    handler: (kind, target) =>
      world.doing(async () => {
        if (kind === 'flush') return client.flush(name, target ?? undefined);
        return client[kind](name, target === null ? {} : { target });
      }),
    all: (kind) => world.doing(() => (kind === 'pauseAll' ? client.queuers.pause() : client.queuers.resume())),
    advance: (ms) => world.advance(ms),
    lane: (step, spare) =>
      world.doing(async () => {
        const { kind, service } = step;
        if (kind === 'weight') return client.lanes.setWeight(service, step.weight);
        if (kind === 'pauseLane') return client.lanes.pause(service);
        if (kind === 'resumeLane') return client.lanes.resume(service);
        if (kind === 'skip') return client.lanes.skip(service);
        if (kind === 'lost') return client.lanes.reportLost(service);
        return client.lanes.fix(service, kind === 'items' ? { items: [spare] } : { as: kind });
      }),
  };
  try {
    const refusals = await playSteps(scenario, downstream, verbs);
    return { calls, refusals, ...(await readStory(database.pool, begunMs)), lanes: await readLanes(client) };
  } finally {
    await world.close();
  }
};

const since = (at: string): string => `extract(epoch from ${at})::float8 * 1000 - $1`;

const readStory = async (pool: Pool, begunMs: number): Promise<Pick<LaneStory, 'batches' | 'tasks'>> => {
  const { rows: batches } = await pool.query<LaneStory['batches'][number] & { no: number }>(
    `select ${since('b.created_at')} as "atMs", t.key as target, b.reason as no,
       array(
         select k.id from unnest(b.members) with ordinality u (seq, place) join task k using (seq)
         order by u.place) as tasks
     from batch b join target t on t.id = b.target_id order by b.id`,
    [begunMs],
  );
  const { rows: tasks } = await pool.query<{ id: string; no: number; attempts: number; endedAtMs: number | null }>(
    `select k.id, s.state as no, coalesce(o.attempts, m.attempts + b.counted, 0)::int as attempts,
       ${since('coalesce(o.at, b.finished_at)')} as "endedAtMs"
     from task k join task_state s using (seq) left join outcome o using (seq) left join member m using (seq)
       left join batch b on b.id = m.batch_id
     order by k.seq`,
    [begunMs],
  );
  return {
    batches: batches.map(({ no, ...batch }) => ({ ...batch, reason: flushReasonName(no) })),
    tasks: Object.fromEntries(tasks.map(({ id, no, ...task }) => [id, { ...task, state: taskStateName(no) }])),
  };
};

const readLanes = async (client: LaneWorld['client']): Promise<LaneStory['lanes']> => {
  const lanes: LaneStory['lanes'] = {};
  for (const { service } of await client.lanes.list()) {
    const { state, reason, granted, batches } = await client.lanes.get(service, { batches: 100 });
    const open = await Promise.all(
      batches.map(async ({ batch, status }) => {
        const { members } = (await client.batches.get(batch))!;
        return `${status} ${members.map(({ id }) => id).join(' ')}`;
      }),
    );
    lanes[service] = { state, granted, reason: reason === null ? null : withoutNumbers(reason), open };
  }
  return lanes;
};
