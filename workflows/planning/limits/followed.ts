/** When a change of limits counts, as API and dashboard say. */
export const FOLLOWED = 'All workers follow within about a second; calls that have begun are not broken off.';
