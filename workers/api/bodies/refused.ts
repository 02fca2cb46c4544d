import type { TaskProblem } from '../../../client/errors';
import { cutText } from '../../../handlers/text';
import { MOST_NAMED } from '../validate';

/** Characters of each text about a task whose problems are not all told. */
const BRIEF = 100;

/**
 * Bounds the problems of refused tasks in an answer: of the first 100 tasks all are told, of each
 * other one its first, in short. A schema finds ten in a task of a few bytes, and a call has
 * thousands.
 */
export const boundedProblems = (problems: readonly TaskProblem[]): TaskProblem[] => {
  const told = new Set<number>();
  const others = new Set<number>();
  return problems.flatMap((problem) => {
    const { index, field, message } = problem;
    if (told.has(index) || told.size < MOST_NAMED) {
      told.add(index);
      return [problem];
    }
    if (others.has(index)) return [];
    others.add(index);
    return [{ ...problem, field: cutText(field, BRIEF), message: cutText(message, BRIEF) }];
  });
};
