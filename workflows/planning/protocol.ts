/** Numbers of Temporal's protocol. */

/** The status of a run that is open. */
export const RUNNING = 1;
/** gRPC's code for what does not exist. */
export const GRPC_NOT_FOUND = 5;

/**
 * Says whether the server knows no such run. A namespace that is not there has the same code.
 */
export const saysNoRun = ({ code, details }: { code: number; details: string }): boolean =>
  code === GRPC_NOT_FOUND && !/^namespace\b/i.test(details);
