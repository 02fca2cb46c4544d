import type { Case } from '../case';
import { all, CASE_TASKS, failedAt } from '../case';
import { markOf } from '../trial';
import type { Wire } from '../trial';

const placeText = (place: number): string => `place ${place + 1} of ${CASE_TASKS}`;

/** A task that is refused whenever it is sent: alone, or with the whole call that has it. */
const poisonAt = (place: number): Case => ({
  name: `a poison task at ${placeText(place)} fails alone`,
  room: 'poison',
  skips: (wire) =>
    wire.verdicts.includes('refused') || wire.refusals.includes('content')
      ? undefined
      : 'it refuses nothing for its content',
  script: poison(place),
  judge: failedAt((at) => at === place),
});

/** Refuses the item where the wire can, else the call; `isWhole`: always the call. */
const poison = (place: number) => (_call: number, marks: readonly string[], wire: Wire) => {
  if (wire.verdicts.includes('refused'))
    return { items: (mark: string) => (mark === markOf(place) ? ('refused' as const) : ('ok' as const)) };
  return marks.includes(markOf(place)) ? { refuse: 'content' as const } : {};
};

const needsContent = (wire: Wire): string | undefined =>
  wire.refusals.includes('content') ? undefined : 'it refuses no call for its content';

const poisonedCallAt = (place: number): Case => ({
  name: `a call that is refused for the task at ${placeText(place)} is halved until that is alone`,
  room: 'poison',
  skips: needsContent,
  script: (_call, marks) => (marks.includes(markOf(place)) ? { refuse: 'content' } : {}),
  judge: failedAt((at) => at === place),
});

/** Poison tasks at each place, and calls that are refused for their content. */
export const POISON_CASES: readonly Case[] = [
  ...Array.from({ length: CASE_TASKS }, (_, place) => poisonAt(place)),
  poisonedCallAt(0),
  poisonedCallAt(CASE_TASKS / 2),
  poisonedCallAt(CASE_TASKS - 1),
  {
    name: 'every call is refused for its content: the handler is paused, and no task fails of it',
    room: 'poison',
    skips: needsContent,
    script: () => ({ refuse: 'content' }),
    judge: all('held'),
  },
];
