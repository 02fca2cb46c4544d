import type { EndedTasks } from '../../handlers/hooks/types';

/** What a settlement tells of the ends that it has committed. */
export interface EndsTold {
  readonly observesEnds: boolean;
  ended(events: readonly EndedTasks[]): void;
}
