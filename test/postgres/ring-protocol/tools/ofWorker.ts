import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { ActivityDeps } from '../../../../activities/deps';
import { OutcomeMeters } from '../../../../activities/outcomes/meters';
import { Outcomes } from '../../../../activities/outcomes/outcomes';
import { HandlerCounts } from '../../../../workflows/temporal/handlerCounts';
import { Requests } from '../../../../workflows/temporal/requests';

/** What a worker counts, and what it sends by this client. */
export const ofWorker = (
  temporal: Client,
  log: Logger,
): Pick<ActivityDeps, 'temporal' | 'requests' | 'runs' | 'log'> & { outcomes: Outcomes } => ({
  temporal,
  log,
  requests: new Requests(temporal),
  runs: new HandlerCounts(),
  outcomes: new Outcomes(new OutcomeMeters(), log),
});
