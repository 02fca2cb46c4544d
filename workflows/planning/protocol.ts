/** Numbers of Temporal's protocol. */

/** The status of a run that is open. */
export const RUNNING = 1;
/** gRPC's code for what does not exist. */
export const GRPC_NOT_FOUND = 5;
