import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { listFlag, numberFlag, processFlags, seedFlag } from '../../../examples/support/flags';
import { Disk } from '../../liveness/disk';
import { endWith, timedLog } from '../../liveness/endProcess';
import { FAULT_KINDS } from './plan';
import { runChaos } from './run';

/** `npm run chaos`: random faults of all kinds on all five systems at once, by seed. */

const flags = processFlags(
  {
    name: 'npm run chaos --',
    summary:
      'Random faults of every kind, one after another, while work of all five systems arrives; then every task, item and message is accounted for.',
    result:
      'One line of JSON on stdout, what happens on stderr. Exit code 1 if work did not go on within --within after a fault, ' +
      'anything was lost, doubled, out of order, stuck or untold, or something stood for a minute and was called healthy.',
    examples: ['', '--minutes 60 --seed 7', '--minutes 2 --only kill,temporal-emptied --rate 20'],
  },
  {
    minutes: numberFlag(60, { text: 'faults begin for so long', min: 1, unit: 'min' }),
    faults: numberFlag(1_000_000, { text: 'most faults', min: 1 }),
    only: listFlag(FAULT_KINDS, 'kinds of faults, with commas between them'),
    workers: numberFlag(3, { text: 'worker processes', min: 2, max: 8 }),
    rate: numberFlag(40, { text: 'tasks per second', min: 1 }),
    within: numberFlag(30_000, { text: 'work must go on within this after a fault', min: 1, unit: 'ms' }),
    seed: seedFlag(),
  },
);

const { minutes, faults, workers, rate, within, seed } = flags;
const log = timedLog();
const chosen = FAULT_KINDS.filter((kind) => flags.only.includes(kind));
const canFill = !chosen.includes('disk-full') || Disk.canMount(mkdtempSync(path.join(tmpdir(), 'muster-disk-')));
const only = canFill ? chosen : chosen.filter((kind) => kind !== 'disk-full');
log(`seed ${seed}`);
if (!canFill) log('disk-full is left out: it needs a disk in memory, which this user may not mount');
endWith(log, () => runChaos({ forMs: minutes * 60_000, faults, workers, rate, seed, only, withinMs: within, log }));
