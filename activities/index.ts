import { cancelWithChunks } from '../postgres/executionCancel';
import { balancePartitions } from './balance';
import { claimBatches } from './claim';
import type { ActivityDeps } from './deps';
import { createFanoutActivities } from './fanoutActivities';
import { completeSignalled } from './completeSignalled';
import { handOnCompletions, knowsHandler } from './handOn';
import type { HandOnInput } from './handOn';
import { createHelperActivities } from './helperActivities';
import { deliverNotifications } from './notify';
import { pollAccepted } from './poll';
import { refuseUnreadable } from './refuseUnreadable';
import { wake } from './ring';
import { rollCall } from './rollCall';
import { submitBatches } from './submit';
import { grantLanes } from './grant';
import { workOrderBatch } from './workOrder';
import type {
  BalanceAnswer,
  BalanceInput,
  DispatchAnswer,
  DispatchInput,
  GrantAnswer,
  GrantInput,
  RollCall,
  RollCallResponse,
  TurnAnswer,
  TurnInput,
  WorkOrderBatch,
  WorkOrderBatchResponse,
} from '../workflows/contracts';
import type {
  CompletionSignal,
  DeliveryAnswer,
  MonitorInput,
  PollAnswer,
  SignalledCompletion,
} from '../workflows/definitions';

export type { ActivityDeps } from './deps';

/** All activities, over their dependencies; workflows see only the type. */
export const createActivities = (deps: ActivityDeps) => refuseUnreadable(activitiesOf(deps));

const activitiesOf = (deps: ActivityDeps) => ({
  claimBatches: (input: TurnInput): Promise<TurnAnswer> =>
    claimBatches(
      { pool: deps.pool, leaseMs: deps.leaseMs, nodes: deps.nodes, wake: (leaders) => wake(deps, leaders) },
      input,
    ).then((answer) => {
      const { leaderId, handler, name, installation } = input;
      if (answer.foreign === true)
        deps.log.warn(
          { leaderId, handler, leader: name, installation },
          'a run of another leader than the store has under its number: the store was replaced, or another one uses this namespace and prefix',
        );
      return answer;
    }),
  grantLanes: (input: GrantInput): Promise<GrantAnswer> => grantLanes(deps, input),
  balancePartitions: (input: BalanceInput): Promise<BalanceAnswer> => balancePartitions(deps, input),
  submitBatches: (input: DispatchInput): Promise<DispatchAnswer> => submitBatches(deps, input),
  deliverNotifications: (): Promise<DeliveryAnswer> => deliverNotifications(deps),
  pollAccepted: (input: MonitorInput): Promise<PollAnswer> => pollAccepted(deps, input),
  rollCall: (input: RollCall): Promise<RollCallResponse> => rollCall(deps, input),
  cancelExecution: ({ executionId }: Pick<RollCall, 'executionId'>): Promise<number | null> =>
    cancelWithChunks(deps.pool, executionId),
  workOrderBatch: (input: WorkOrderBatch): Promise<WorkOrderBatchResponse> => workOrderBatch(deps, input),
  completeAccepted: (input: MonitorInput & { told: CompletionSignal }): Promise<SignalledCompletion> =>
    completeSignalled(deps, input),
  handOnCompletions: (input: HandOnInput): Promise<void> => handOnCompletions(deps, input),
  knowsHandler: (input: MonitorInput): Promise<boolean> => knowsHandler(deps, input),
  ...createHelperActivities(deps),
  ...createFanoutActivities(deps),
});
export type Activities = ReturnType<typeof createActivities>;
