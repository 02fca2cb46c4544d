import { sleep } from '@temporalio/workflow';
import { openFanout, submitTask, submitTasks } from '../../workflows/helper';
import type { TaskResult } from '../../workflows/helper';

/** A user's own workflows, which submit to Muster and wait. */

export interface City {
  country: string;
  name: string;
}

export async function importCity(city: City, timeout?: number): Promise<unknown> {
  const end = await submitTask(
    'index-city',
    { id: city.name, payload: city },
    timeout === undefined ? {} : { timeout },
  );
  return end.result;
}

/** Returns when the ends came, by the workflow's time, and what they are. */
export async function importLater(cities: City[], waitMs: number): Promise<{ tookMs: number; ends: TaskResult[] }> {
  await sleep(waitMs);
  const begunAt = Date.now();
  const ends = await submitTasks(
    'index-city',
    cities.map((city) => ({ id: city.name, payload: city })),
  );
  return { tookMs: Date.now() - begunAt, ends };
}

export async function spread(items: number): Promise<number> {
  const fanout = await openFanout({ userKey: 'spread' });
  await fanout.add(items);
  await fanout.seal();
  return (await fanout.completed()).items;
}
