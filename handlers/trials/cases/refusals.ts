import { DAY_MS } from '../../../workflows/planning/duration';
import type { Case, Judge } from '../case';
import { all, both, calls, first, waits } from '../case';
import type { Refusal, Wire } from '../trial';
import { inTurn } from '../turn';

const needs =
  (refusal: Refusal) =>
  (wire: Wire): string | undefined =>
    wire.refusals.includes(refusal) ? undefined : `it never says "${refusal}"`;

const needsHeaders = (wire: Wire): string | undefined =>
  needs('throttled')(wire) ?? (wire.hasHeaders === false ? 'its answers have no headers' : undefined);

const SECONDS = 7;
/** An answer has no finer date than a second, and the way takes time. */
const SLACK_MS = 2_000;

const throttled = (name: string, headers: () => Record<string, string>, judge: Judge): Case => ({
  name,
  room: 'refusals',
  skips: needsHeaders,
  script: (call) => (call === 0 ? { refuse: 'throttled', headers: headers() } : {}),
  judge: both(first('later'), judge, all('succeeded'), calls(2)),
});

const notSent = (ends: Judge): Judge =>
  both(ends, ({ effects }) =>
    [...effects.values()].some((n) => n > 0) ? 'expected that nothing was applied, got an effect' : undefined,
  );

/** Back pressure, with each kind of Retry-After, and refusals that an operator must mend. */
export const REFUSAL_CASES: readonly Case[] = [
  {
    name: 'throttled: it waits, and counts no attempt',
    room: 'refusals',
    skips: needs('throttled'),
    script: inTurn({ refuse: 'throttled' }),
    judge: both(first('later'), all('succeeded'), calls(2)),
  },
  {
    name: 'throttled five times in a row: all succeed in the end',
    room: 'refusals',
    skips: needs('throttled'),
    script: (call) => (call < 5 ? { refuse: 'throttled' } : {}),
    judge: both(all('succeeded'), calls(6)),
  },
  {
    name: 'unavailable for now: it waits',
    room: 'refusals',
    skips: needs('unavailable'),
    script: inTurn({ refuse: 'unavailable' }),
    judge: both(first('later'), all('succeeded'), calls(2)),
  },
  throttled(
    'Retry-After in seconds',
    () => ({ 'retry-after': String(SECONDS) }),
    waits(SECONDS * 1_000, SECONDS * 1_000),
  ),
  throttled(
    'Retry-After as a date',
    () => ({ 'retry-after': new Date(Date.now() + SECONDS * 1_000).toUTCString() }),
    waits(SECONDS * 1_000 - SLACK_MS, SECONDS * 1_000 + SLACK_MS),
  ),
  throttled('Retry-After in milliseconds (retry-after-ms)', () => ({ 'retry-after-ms': '1750' }), waits(1_750, 1_750)),
  throttled('Retry-After of 0: it waits all the same', () => ({ 'retry-after': '0' }), waits(1, DAY_MS)),
  throttled('a Retry-After that cannot be read', () => ({ 'retry-after': 'soon' }), waits(1, DAY_MS)),
  throttled('a Retry-After of a year: a day at most', () => ({ 'retry-after': '31536000' }), waits(DAY_MS, DAY_MS)),
  {
    name: 'refused credentials: the handler is paused, and no task fails of it',
    room: 'refusals',
    skips: needs('credentials'),
    script: () => ({ refuse: 'credentials' }),
    judge: notSent(both(first('halted'), all('held'))),
  },
  {
    name: 'what the target names is not there: nothing is applied, and no backlog fails',
    room: 'refusals',
    skips: needs('absent'),
    script: () => ({ refuse: 'absent' }),
    judge: notSent(all('held')),
  },
];
