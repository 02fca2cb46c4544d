import { durationFlag, listFlag, numberFlag, processFlags, seedFlag } from '../../examples/support/flags';
import { endWith, timedLog } from './endProcess';
import { PHASE_NAMES } from './phases';
import { runLiveness } from './run';

/**
 * `npm run test:liveness`: everything that may stop, one after another, while work arrives and a
 * witness asks whether it is told the truth.
 */

const flags = processFlags(
  {
    name: 'npm run test:liveness --',
    summary:
      'Stops, starves, kills and cuts off workers and their servers while work arrives; sees whether it goes on, and whether what stands is called so.',
    result:
      'One line of JSON on stdout, what happens on stderr. Exit code 1 if sending did not go on ' +
      'within --within, anything was lost, stuck, doubled or out of order, something stood for a ' +
      'minute and was called healthy, or something was called standing that moved.',
    examples: ['', '--only stops,herd --leaders 200', '--only temporal-away --away 30s --calm 10s'],
  },
  {
    only: listFlag(PHASE_NAMES, 'faults, with commas between them'),
    workers: numberFlag(2, { text: 'worker processes', min: 2, max: 8 }),
    rate: numberFlag(40, { text: 'tasks per second', min: 1 }),
    stops: numberFlag(20, { text: 'of stops: SIGSTOPs, of one worker and then of two in turns', min: 1 }),
    'stop-ms': numberFlag(6_000, { text: 'of stops: how long each lasts', min: 1, unit: 'ms' }),
    busy: numberFlag(30, { text: 'of starved: processes that only compute, beside everything', min: 1, max: 200 }),
    seconds: numberFlag(90, { text: 'of starved: how long they compute', min: 1, unit: 's' }),
    leaders: numberFlag(200, { text: 'of herd: leaders with work when all workers are killed', min: 1, max: 1_024 }),
    herd: durationFlag(60_000, 'of herd: how long the leaders work before'),
    away: durationFlag(120_000, 'of temporal-away: how long Temporal is stopped, and then killed'),
    'half-open': durationFlag(60_000, 'of half-open: how long nothing comes through to Postgres'),
    'read-only': durationFlag(20_000, 'of read-only: how long Postgres takes no writes'),
    within: numberFlag(30_000, { text: 'sending must go on within this after a fault', min: 1, unit: 'ms' }),
    calm: durationFlag(60_000, 'with everything in motion for so long, nothing may be called standing'),
    seed: seedFlag(),
  },
);

const { only, workers, rate, leaders, seed, stops, busy, seconds, within } = flags;
const log = timedLog();
endWith(log, () =>
  runLiveness({
    only,
    workers,
    rate,
    leaders,
    seed,
    stops,
    busy,
    log,
    stopMs: flags['stop-ms'],
    busyMs: seconds * 1_000,
    herdMs: flags.herd,
    awayMs: flags.away,
    halfOpenMs: flags['half-open'],
    readOnlyMs: flags['read-only'],
    withinMs: within,
    calmMs: flags.calm,
  }),
);
