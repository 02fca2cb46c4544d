import type { BatchDependency } from '../../handlers/contract';
import type { Handler } from '../../handlers/types';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { handDependencies } from '../../postgres/lanes/handed';
import type { Pool } from '../../postgres/pool';
import { isHandedOver } from '../../workflows/planning/lanes/dependencies';
import { statusName } from '../../workflows/planning/lanes/statuses';

/**
 * Returns the dependencies to hand to the downstream with a batch: none unless it knows them. Null:
 * since the grant one of them was lost or has failed, so the batch must not be sent.
 */
export const dependenciesOf = async (
  { pool, handler }: { pool: Pool; handler: Pick<Handler, 'lane'> },
  { id, unsure }: Pick<CarriedBatch, 'id' | 'unsure'>,
): Promise<readonly BatchDependency[] | null> => {
  if (handler.lane.dependencies !== 'downstream') return [];
  const handed = await handDependencies(pool, id);
  if (!handed.every(({ status }) => isHandedOver(statusName(status), unsure))) return null;
  return handed.map(({ batch, reference, status }) => ({
    batch: String(batch),
    reference,
    committed: statusName(status) === 'committed',
  }));
};
