import { submitTask } from 'temporal-muster/workflow';
import type { City } from './cities';

/** Returns how the city's task ended. */
export async function importCity(city: City): Promise<string> {
  const { state } = await submitTask('index-city', { id: city.name, payload: city });
  return state;
}
