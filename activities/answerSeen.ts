import type { Seen } from '../workflows/messages';

/** Makes an activity that takes turns answer with what the run had seen when it began the turn. */
export const answerSeen =
  <I extends { seen?: Seen }, A extends { seen?: Seen }>(takeTurn: (input: I) => Promise<A>) =>
  async (input: I): Promise<A> => {
    const answer = await takeTurn(input);
    return input.seen === undefined ? answer : { ...answer, seen: input.seen };
  };
