import { defineHandler } from '../../handlers';
import { simulate } from '../../workers/testing/simulate';

/** A scenario as the pages of the testing kit show them, with the definition of its handler. */

interface City {
  country: string;
  name: string;
}

/** Refuses a city for now, the first time that it is asked for it. */
const indexCity = (busy: Set<string>) =>
  defineHandler({
    name: 'index-city',
    target: (city: City) => city.country,
    limits: { maxItems: 3 },
    linger: { lingerMs: 60_000 },
    retry: { delayed: { baseMs: 600_000 } },
    submit: async ({ tasks }) => ({
      results: tasks.map(({ id, payload }) =>
        busy.delete(payload.name) ? { id, status: 'retry', error: 'busy' } : { id, status: 'ok', result: id },
      ),
    }),
  });

/**
 * Four cities, of which three fill a batch and the last waits for a minute; one comes back later.
 */
export const playPlain = async () => {
  const world = simulate(indexCity(new Set(['Lund'])));
  await world.submit(
    ['Lund', 'Ystad', 'Malmö', 'Kiruna'].map((name) => ({ id: name, payload: { country: 'se', name } })),
  );
  await world.advance('1 hour');
  return { batches: world.batches, tasks: Object.fromEntries(world.tasks.map((task) => [task.id, task])) };
};
