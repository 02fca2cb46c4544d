import { defineHandler } from 'temporal-muster';

export interface City {
  country: string;
  name: string;
}

/** The downstream, which a test plays. Returns the names that it has refused for now. */
export type Index = (country: string, names: string[]) => Promise<string[]>;

export const indexCity = (index: Index) =>
  defineHandler({
    name: 'index-city',
    target: (city: City) => city.country,
    limits: { maxItems: 3 },
    linger: { lingerMs: 60_000 },
    retry: { delayed: { baseMs: 600_000 } },
    submit: async (batch, { log }) => {
      const refused = await index(
        batch.target,
        batch.tasks.map(({ payload }) => payload.name),
      );
      if (refused.length > 0) log.info({ refused }, 'the index is busy');
      return {
        results: batch.tasks.map(({ id, payload }) =>
          refused.includes(payload.name) ? { id, status: 'retry', error: 'busy' } : { id, status: 'ok', result: id },
        ),
      };
    },
  });
