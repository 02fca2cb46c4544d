/** From here on a number is a choice: 251 in place of 250 is another one, 0 is a defect. */
const LEAST_CHOICE = 10;

/** Returns what a number becomes. `isChoice`: it is one although it is small. */
export const otherNumber = (value: number, isChoice = false): string =>
  value >= LEAST_CHOICE || (isChoice && value > 1) ? '0' : String(value + 1);
