import { NOTHING } from './queuer/nothing';
import type { LaneOutcome } from './queuer/report';
import { rounds } from '../helpers/long';
import { runShort } from './shortForm';

/** Lanes of a handler with affinity, in short: who froze comes back under an old epoch. @slow */

test('lanes in partitions, killed and frozen nodes: no call under an old epoch is accepted, no order inverted, nothing lost [B5 B10 B11 B16]', async () => {
  const args = [
    '--scenario',
    'queuer',
    '--batches',
    `${rounds(60, 120)}`,
    '--lanes',
    '12',
    '--partitions',
    '4',
    '--freezes',
    '1',
    '--kills',
    '1',
    '--seed',
    '86', // a kill: only the freezes stop somebody
  ];
  const { code, outcome, table } = await runShort<LaneOutcome>(args);
  if (code !== 0) throw new Error(table);
  expect(outcome).toMatchObject({
    passed: true,
    kills: 1,
    freezes: 1,
    ...NOTHING,
    crashes: 0,
    drained: true,
    verified: 'ok',
  });
}, 240_000);
