import { isSkewed } from '../../../workflows/planning/clockSkew';
import type { Finding } from './finding';
import { duration } from './format';
import { hrefOf } from './place';

/** Returns what is wrong with the clock of the process that serves the page. */
export const skewed = (ms: number): Finding[] =>
  isSkewed(ms)
    ? [
        {
          level: 'warn',
          what: `The clocks of the API and of the database differ by ${duration(ms)}`,
          why: 'What is due goes by that of the database; times in logs and those that callers compute do not.',
          next: 'Synchronize both (NTP); muster doctor compares those of its machine.',
          href: hrefOf([]),
        },
      ]
    : [];
