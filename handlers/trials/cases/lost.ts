import type { Case } from '../case';
import { all, both, first } from '../case';
import type { Break, Wire } from '../trial';
import { inTurn } from '../turn';

const KINDS: readonly (readonly [how: Break, words: string])[] = [
  ['reset', 'the connection is reset'],
  ['closed', 'the connection is closed'],
  ['error', 'the answer is 500'],
];
const WHEN = { before: 'before the effect', after: 'after the effect' } as const;

const canBreak =
  (how: Break) =>
  (wire: Wire): string | undefined =>
    wire.breaks?.includes(how) === false ? `its answers cannot be spoiled so ("${how}")` : undefined;

/** Short, so that a case with an answer that never ends does not take long. */
const STALLED_MS = 400;

const lost = (how: Break, words: string, when: keyof typeof WHEN): Case => ({
  name: `${words} ${WHEN[when]}`,
  room: 'lost',
  skips: canBreak(how),
  script: inTurn({ breaks: { how, applied: when === 'after' } }),
  mayEndUnknown: true,
  judge: both(first('unknown', ...(when === 'before' ? ['later'] : ['results'])), all('succeeded', 'unknown')),
});

/**
 * Says how an answer is lost after the effect. Nothing may be taken for refused then, or for
 * applied twice.
 */
const spoiled = (how: Break, words: string): Case => ({
  name: `${words}, after the effect`,
  room: 'lost',
  skips: canBreak(how),
  script: inTurn({ breaks: { how, applied: true } }),
  drive: how === 'stalled' ? { timeoutMs: STALLED_MS } : {},
  mayEndUnknown: true,
  judge: both(first('unknown', 'results'), all('succeeded', 'unknown')),
});

/** Lost answers, before and after the effect, and answers that break off. */
export const LOST_CASES: readonly Case[] = [
  {
    name: 'nothing listens at the address: nothing was sent, so it waits',
    room: 'lost',
    isUnreachable: true,
    drive: { callsMax: 1 },
    judge: first('later'),
  },
  ...KINDS.flatMap(([how, words]) => [lost(how, words, 'before'), lost(how, words, 'after')]),
  spoiled('cut', 'half of the answer, then a reset'),
  spoiled('stalled', 'half of the answer, then nothing'),
  spoiled('page', 'a page in place of an answer'),
  spoiled('empty', 'an empty answer'),
  {
    name: 'half a stream of results, then a reset',
    room: 'lost',
    script: inTurn({ breaksResults: 'cut' }),
    mayEndUnknown: true,
    judge: all('succeeded', 'unknown'),
  },
  {
    name: 'half a stream of results, then nothing',
    room: 'lost',
    script: inTurn({ breaksResults: 'stalled' }),
    drive: { timeoutMs: STALLED_MS },
    mayEndUnknown: true,
    judge: all('succeeded', 'unknown'),
  },
  {
    name: 'two answers in a row are lost after the effect',
    room: 'lost',
    script: (call) => (call < 2 ? { breaks: { how: 'reset', applied: true } } : {}),
    mayEndUnknown: true,
    judge: all('succeeded', 'unknown'),
  },
  {
    name: 'an answer is lost after the effect, then the downstream is throttled',
    room: 'lost',
    script: inTurn({ breaks: { how: 'reset', applied: true } }, { refuse: 'throttled' }),
    mayEndUnknown: true,
    judge: all('succeeded', 'unknown'),
  },
];
