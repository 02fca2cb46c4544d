import { formatDuration } from '../duration';
import type { LimitName, LimitValue, Override, RateLimit } from './limits';
import type { SharedLimitName, SharedRate, SharedValues } from './sharing';

/** Names of limits in sentences. */
const WORDS: Readonly<Record<LimitName, string>> = {
  rate: 'rate',
  'concurrency.perTarget': 'calls at once per target',
  'concurrency.perHandler': 'calls at once',
  'maxWeightInFlight.perTarget': 'weight in flight per target',
  'maxWeightInFlight.perHandler': 'weight in flight',
};

/** Returns the name of a limit for people. */
export const wordOf = (limit: LimitName): string => WORDS[limit];

/** Returns the name of a limit that handlers share for people. */
export const wordOfShared = (limit: SharedLimitName): string => (limit === 'rate' ? 'rate' : 'calls at once');

/** Returns a value for people: `10 calls per 1 s`, `5`, `none`. */
export const describeValue = (value: LimitValue | SharedValues[SharedLimitName]): string => {
  if (value === null) return 'none';
  if (typeof value === 'number') return String(value);
  return value.length === 0 ? 'none' : value.map(describeRate).join(', ');
};

const describeRate = ({ limit, perMs, unit, scope }: RateLimit | SharedRate): string =>
  [
    limit,
    limit === 1 && unit !== 'weight' ? unit.slice(0, -1) : unit,
    'per',
    formatDuration(perMs),
    ...(scope === 'target' ? ['and target'] : []),
  ].join(' ');

/** Says who set a limit, and until when: `set by ana until 2030-01-31T12:00:00.000Z`. */
export const describeSetting = ({ by, until }: Pick<Override, 'by' | 'until'>): string =>
  `set by ${by}${until === null ? '' : ` until ${until}`}`;
