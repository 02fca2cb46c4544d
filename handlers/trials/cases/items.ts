import type { Case } from '../case';
import { all, both, calls, failedAt } from '../case';
import { markOf } from '../trial';
import type { Verdict, Wire } from '../trial';
import { inTurn } from '../turn';

/** Larger full batches take long and show no more. */
const FULL_MAX = 500;

/** Returns a reason to skip a case that needs answers which this downstream cannot give. */
const needsVerdict =
  (...verdicts: readonly Verdict[]) =>
  (wire: Wire): string | undefined => {
    const missing = verdicts.find((verdict) => !wire.verdicts.includes(verdict));
    return missing && `its answers cannot say "${missing}" of one item`;
  };

const placeOf = (mark: string): number => Number(/\d+/.exec(mark)?.[0]);
const isOdd = (mark: string): boolean => placeOf(mark) % 2 === 1;
const isFirst = (mark: string): boolean => mark === markOf(0);

const BUSY: readonly Case[] = [
  {
    name: 'one item is busy: it alone is sent again',
    room: 'items',
    skips: needsVerdict('busy'),
    script: inTurn({ items: (mark) => (isFirst(mark) ? 'busy' : 'ok') }),
    judge: both(all('succeeded'), calls(2), ({ calls: [, second] }) =>
      second!.items === 1 ? undefined : `expected the second call to have one item, got ${second!.items}`,
    ),
  },
  {
    name: 'every second item is busy: these are sent again',
    room: 'items',
    skips: needsVerdict('busy'),
    script: inTurn({ items: (mark) => (isOdd(mark) ? 'busy' : 'ok') }),
    judge: both(all('succeeded'), calls(2)),
  },
  {
    name: 'every item is busy: all are sent again',
    room: 'items',
    skips: needsVerdict('busy'),
    script: inTurn({ items: () => 'busy' }),
    judge: both(all('succeeded'), calls(2)),
  },
  {
    name: 'one item is busy three times in a row',
    room: 'items',
    skips: needsVerdict('busy'),
    script: (call) => (call < 3 ? { items: (mark) => (isFirst(mark) ? 'busy' : 'ok') } : {}),
    judge: both(all('succeeded'), calls(4)),
  },
];

const REFUSED: readonly Case[] = [
  {
    name: 'every item is refused for good: all fail, and nothing is applied',
    room: 'items',
    skips: needsVerdict('refused'),
    script: () => ({ items: () => 'refused' }),
    judge: both(all('failed'), calls(1)),
  },
  {
    name: 'every second item is refused for good',
    room: 'items',
    skips: needsVerdict('refused'),
    script: () => ({ items: (mark) => (isOdd(mark) ? 'refused' : 'ok') }),
    judge: both(
      failedAt((place) => place % 2 === 1),
      calls(1),
    ),
  },
  {
    name: 'one item is refused, one is busy, the others are applied',
    room: 'items',
    skips: needsVerdict('refused', 'busy'),
    script: (call) => ({
      items: (mark) => {
        if (isFirst(mark)) return 'refused';
        return call === 0 && placeOf(mark) === 1 ? 'busy' : 'ok';
      },
    }),
    judge: both(
      failedAt((place) => place === 0),
      calls(2),
    ),
  },
];

const OMITTED: readonly Case[] = [
  {
    name: 'the answer says nothing of one item: it is not taken for applied',
    room: 'items',
    skips: needsVerdict('omitted'),
    script: inTurn({ items: (mark) => (placeOf(mark) === 3 ? 'omitted' : 'ok') }),
    mayEndUnknown: true,
    judge: ({ outcomes: [outcome] }) => {
      if (outcome?.kind === 'unknown') return undefined;
      const told = outcome?.kind === 'results' && outcome.deviants.some(({ status }) => status === 'unknown');
      return told ? undefined : `expected one result "unknown", got ${JSON.stringify(outcome)}`;
    },
  },
  {
    name: 'the answer says nothing of one item, and a later one is busy: no place is shifted',
    room: 'items',
    skips: needsVerdict('omitted', 'busy'),
    script: inTurn({ items: (mark) => (placeOf(mark) === 3 ? 'omitted' : placeOf(mark) === 5 ? 'busy' : 'ok') }),
    mayEndUnknown: true,
    judge: all('succeeded', 'unknown'),
  },
  {
    name: 'the answer says nothing of any item but one',
    room: 'items',
    skips: needsVerdict('omitted'),
    script: inTurn({ items: (mark) => (isFirst(mark) ? 'ok' : 'omitted') }),
    mayEndUnknown: true,
    judge: ({ outcomes: [outcome] }) => {
      const unknown = outcome?.kind === 'results' ? outcome.deviants.length : 0;
      return outcome?.kind === 'unknown' || unknown > 0
        ? undefined
        : `expected results "unknown", got ${JSON.stringify(outcome)}`;
    },
  },
];

/** What the answer says of the items. */
export const ITEM_CASES: readonly Case[] = [
  { name: 'every item is applied', room: 'items', judge: both(all('succeeded'), calls(1)) },
  { name: 'a batch of one', room: 'items', tasks: () => 1, judge: both(all('succeeded'), calls(1)) },
  {
    name: 'a full batch goes in one call',
    room: 'items',
    tasks: (handler) => Math.min(handler.limits.maxItems, FULL_MAX),
    judge: both(all('succeeded'), calls(1), ({ calls: [seen], wire }) =>
      seen!.items <= wire.maxItems ? undefined : `expected at most ${wire.maxItems} items, got ${seen!.items}`,
    ),
  },
  ...BUSY,
  ...REFUSED,
  ...OMITTED,
];
