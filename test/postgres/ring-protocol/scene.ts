import type { Batch, HandlerOptions, SubmitAnswer } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { createDatabase } from '../../helpers/database';
import type { TestDatabase } from '../../helpers/database';
import type { Finding } from './checker';
import { check, drain } from './checker';
import { Clock } from './tools/clock';
import type { Breakage, Fate } from './fate';
import { World } from './world';

interface Errand {
  to: string;
}
type Answer = (batch: Batch<Errand>) => SubmitAnswer | Promise<SubmitAnswer>;
export const ok: Answer = (batch) => ({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' })) });

/** What a scene plays with: the world, its handler's next answers, and what was seen on the way. */
export interface Stage {
  world: World;
  /** Answers of the next calls; when used up, all are ok. */
  answers: Answer[];
  found: Finding[];
  submit(to: string, ...ids: string[]): Promise<unknown>;
  /**
   * Accepts tasks in a transaction of their own and rings nobody: what a client did that died right
   * after. Answers their targets.
   */
  accept(to: string, ...ids: string[]): Promise<number[]>;
  /** Writes the leader as working, as a wake does, and starts its run. */
  wake(): Promise<void>;
  /** Steps the clock and waits for what it brings about. */
  pass(ms: number): Promise<void>;
}

/** Orders statements by hand so that one precaution is needed; `wrong`: it is left out. */
export interface Scene {
  name: string;
  handler?: Partial<HandlerOptions<Errand>>;
  without: Breakage;
  fate?: (stage: () => Stage) => Fate;
  play: (stage: Stage, wrong: boolean) => Promise<unknown>;
  catches: Finding['kind'];
  /** Most steps of the drain. */
  steps?: number;
}

export class Theatre {
  private constructor(
    private readonly database: TestDatabase,
    private readonly clock: Clock,
  ) {}
  static async open(): Promise<Theatre> {
    const database = await createDatabase({ max: 10 });
    return new Theatre(database, await Clock.create(database.pool));
  }
  close(): Promise<void> {
    return this.database.drop();
  }

  /** Plays the scene from an empty store; answers what the checker finds. */
  async play(scene: Scene, wrong: boolean): Promise<Finding[]> {
    const { pool } = this.database;
    await pool.query(
      `truncate lane, lane_state, lane_queue, lane_batch, dependency, submitter, handler, leader, target, recipient,
       task, queue, delayed, batch, dispatch, member, result_page, outcome, busy_key, notification, lease, node
       restart identity cascade`,
    );
    const answers: Answer[] = [];
    const found: Finding[] = [];
    const calls = new Set<string>();
    const handler = defineHandler<Errand>({
      name: 'errands',
      target: ({ to }) => to,
      limits: { maxItems: 2 },
      linger: { lingerMs: 0 },
      leaders: 1,
      idempotency: { by: 'batch' },
      retry: { inPlace: { times: 0 }, delayed: { baseMs: 2_500, maxMs: 2_500 } },
      submit: async (batch) => {
        if (calls.has(batch.id)) found.push({ kind: 'together', what: `batch ${batch.id} is called twice at once` });
        calls.add(batch.id);
        try {
          return await (answers.shift() ?? ok)(batch);
        } finally {
          calls.delete(batch.id);
        }
      },
      ...scene.handler,
    });
    let stage: Stage | null = null;
    const fate = scene.fate?.(() => stage!) ?? {};
    const world = await World.open(this.database, this.clock, [handler], wrong ? scene.without : {}, fate);
    stage = this.stage(world, answers, found);
    try {
      await scene.play(stage, wrong);
      await world.rest();
      found.push(...(await check(world)));
      if (found.length === 0) found.push(...(await drain(world, scene.steps ?? 100)));
      return found;
    } finally {
      await world.close();
    }
  }

  private stage(world: World, answers: Answer[], found: Finding[]): Stage {
    const { pool } = this.database;
    const tasks = (to: string, ids: string[]): { id: string; payload: Errand }[] =>
      ids.map((id) => ({ id, payload: { to } }));
    return {
      world,
      answers,
      found,
      submit: (to, ...ids) => world.client.submit('errands', tasks(to, ids)),
      accept: async (to, ...ids) => {
        const tx = await pool.connect();
        try {
          await tx.query('begin');
          const { targetIds } = await world.client.submit('errands', tasks(to, ids), { tx });
          await tx.query('commit');
          return targetIds;
        } finally {
          tx.release();
        }
      },
      wake: async () => {
        await pool.query(
          `update leader set state = 1, wake_at = null, expires_at = clock() + interval '15 s' where id = 1`,
        );
        world.start(1, 'errands');
      },
      pass: async (ms) => {
        await this.clock.step(ms);
        await world.rest();
      },
    };
  }
}
