import type { Case } from '../case';
import { all } from '../case';
import type { Shape, Wire } from '../trial';
import { inTurn } from '../turn';

const needs =
  (shape: Shape) =>
  (wire: Wire): string | undefined =>
    wire.shapes.includes(shape) ? undefined : `its answers have no list that could be "${shape}"`;

/** Lists in an answer that are not what was asked for. */
export const ANSWER_CASES: readonly Case[] = [
  {
    name: 'the results come in the reverse order',
    room: 'answers',
    skips: needs('reversed'),
    script: inTurn({ shape: 'reversed' }),
    judge: all('succeeded'),
  },
  {
    name: 'reversed results of which one is refused: that task fails, and no other',
    room: 'answers',
    skips: (wire) => needs('reversed')(wire) ?? (wire.verdicts.includes('refused') ? undefined : 'it refuses no item'),
    script: () => ({ shape: 'reversed', items: (mark) => (mark === 'mark-1-end' ? 'refused' : 'ok') }),
    judge: ({ ends }) => {
      const failed = [...ends].filter(([, end]) => end === 'failed').map(([id]) => id);
      return failed.length === 1 && failed[0]!.includes('mark-1-end')
        ? undefined
        : `expected the refused task alone to fail, got ${failed.join(', ') || 'none'}`;
    },
  },
  {
    name: 'a duplicate result: no other task loses its own',
    room: 'answers',
    skips: needs('twice'),
    script: inTurn({ shape: 'twice' }),
    mayEndUnknown: true,
    judge: all('succeeded', 'unknown'),
  },
  {
    name: 'a result for what was not sent',
    room: 'answers',
    skips: needs('foreign'),
    script: inTurn({ shape: 'foreign' }),
    mayEndUnknown: true,
    judge: all('succeeded', 'unknown'),
  },
];
