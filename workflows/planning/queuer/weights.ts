/** Largest weight of a lane or a batch: places and deficits stay exact whole numbers far beyond it. */
export const WEIGHT_MAX = 1_000_000;

/** A share or a cost (C22). @throws Error naming what it is the weight of. */
export const checkWeight = (what: string, weight: number): void => {
  if (Number.isInteger(weight) && weight >= 1 && weight <= WEIGHT_MAX) return;
  throw new Error(
    `weight of ${what}: expected a whole number from 1 to ${WEIGHT_MAX}, got ${weight}; to stop a lane, pause it`,
  );
};
