import type { ConnectionOptions } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;
type Start = Call['start'];

/** gRPC's code for a call that its caller gave up. */
const CANCELLED = 1;

/**
 * Fails a call whose channel was closed while it waited to be tried again. The SDK's retries make
 * the next try in a timer, where the channel's error would end the process and the call would never
 * be answered.
 */
export const failOnClosedChannel: Interceptor = (options, nextCall) => {
  try {
    return nextCall(options) as Call;
  } catch (error) {
    return failed((error as Error).message);
  }
};

const failed = (details: string): Call => {
  const start: Start = (metadata, listener) => {
    setImmediate(() => listener?.onReceiveStatus?.({ code: CANCELLED, details, metadata }));
  };
  const nothing = (): void => undefined;
  const call = { start, sendMessage: nothing, halfClose: nothing, cancelWithStatus: nothing, getPeer: () => '' };
  return call as unknown as Call;
};
