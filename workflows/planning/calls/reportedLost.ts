/** How the error of a batch begins that the downstream lost, as an operator says. */
export const REPORTED_LOST = 'reported lost';
