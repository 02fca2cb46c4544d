import type { Statement } from '../statement';
import { CONTROLS } from './controlStatements';
import { GRANTS } from './grantStatements';
import { PARTS } from './partStatements';
import { QUEUES } from './queueStatements';
import { SETTLEMENTS } from './settleStatements';
import { SUBMITS } from './submitStatements';
import { TOKENS } from './tokenStatements';

/** What the statements about lanes do to a simulated store. */
export const LANES: Readonly<Record<string, Statement>> = {
  ...SUBMITS,
  ...QUEUES,
  ...GRANTS,
  ...TOKENS,
  ...SETTLEMENTS,
  ...PARTS,
  ...CONTROLS,
};
