/** Begins the error of a batch that the downstream has lost, as reported by an operator. */
export const REPORTED_LOST = 'reported lost';
