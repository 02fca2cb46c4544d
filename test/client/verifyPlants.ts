import { batchPlants } from './plants/batches';
import { flowPlants } from './plants/flow';
import { labelPlants } from './plants/labels';
import { leasePlants } from './plants/leases';
import { placePlants } from './plants/places';
import type { Plant, Run } from './plants/plant';

/**
 * What `verify` finds: for each invariant of tasks, batches and leaders how it is broken by hand,
 * and what one of its rows then says.
 */
export const plantsOf = (run: Run): Record<string, Plant[]> => ({
  ...placePlants(run),
  ...leasePlants(run),
  ...batchPlants(run),
  ...flowPlants(run),
  ...labelPlants(run),
});
