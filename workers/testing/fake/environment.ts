import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';

/** What is used of a `TestWorkflowEnvironment` of `@temporalio/testing`. */
export interface TestEnvironment {
  readonly client: Client;
  readonly nativeConnection: NativeConnection;
  /** Returns the environment's time, which skips. */
  currentTimeMs(): Promise<number>;
}
