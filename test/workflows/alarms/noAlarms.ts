import type { InjectedSinks } from '@temporalio/worker';
import type { AlarmSinks } from '../../../workflows/loops/alarm';

/** For workers that are made without a node. */
export const NO_ALARMS: InjectedSinks<AlarmSinks> = {
  alarm: { set: { fn: () => undefined }, clear: { fn: () => undefined } },
};
