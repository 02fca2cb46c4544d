import { sleep } from '@temporalio/workflow';
import type { FanoutOptions } from '../../../workflows/helper';
import { fanOut as unchanged } from './user';
import type { Told } from './user';

/** The user's workflow `fanOut`, changed: its recorded histories must not replay. */
export const fanOut = async (adds: number[], options: FanoutOptions): Promise<Told> => {
  await sleep(1);
  return unchanged(adds, options);
};
