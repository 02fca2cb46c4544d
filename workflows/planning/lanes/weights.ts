/**
 * Largest weight of a lane or a batch: a batch may cost its lane as many rounds, and places must
 * stay exact whole numbers over 10^7 such grants.
 */
export const WEIGHT_MAX = 10_000;

/** A share or a cost (C22). @throws Error naming what it is the weight of. */
export const checkWeight = (what: string, weight: number): void => {
  if (Number.isInteger(weight) && weight >= 1 && weight <= WEIGHT_MAX) return;
  throw new Error(
    `weight of ${what}: expected a whole number from 1 to ${WEIGHT_MAX}, got ${weight}; to stop a lane, pause it`,
  );
};
