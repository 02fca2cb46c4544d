import { cancelWithChunks } from '../postgres/executions/cancel';
import { answerSeen } from './answerSeen';
import { balancePartitions } from './nodes/balance';
import { countRuns } from './countRuns';
import { claimBatches } from './grouping/claim';
import type { ActivityDeps } from './deps';
import { createFanoutActivities } from './fanouts/workflowFanouts';
import { completeSignalled } from './accepted/completeSignalled';
import { knowsHandler } from './accepted/handOn';
import { createHelperActivities } from './grouping/workflowTasks';
import { deliverNotifications } from './callbacks/notify';
import { takeSignalled } from './accepted/takeSignalled';
import type { TakeAnswer, TakeInput } from './accepted/takeSignalled';
import { pollAccepted } from './accepted/poll';
import { refusedWhileStopping } from './refuseTurns';
import { refuseUnreadable } from './refuseUnreadable';
import { wake } from './grouping/ring';
import { tellUnsent } from './grouping/superseded';
import { rollCall } from './executions/rollCall';
import { submitBatches } from './submit';
import { grantLanes } from './lanes/grant';
import { workOrderBatch } from './executions/workOrder';
import type {
  BalanceAnswer,
  BalanceInput,
  DispatchAnswer,
  DispatchInput,
  GrantAnswer,
  GrantInput,
  RollCall,
  RollCallResponse,
  Seen,
  TurnAnswer,
  TurnInput,
  WorkOrderBatch,
  WorkOrderBatchResponse,
} from '../workflows/messages';
import type {
  CompletionSignal,
  DeliveryAnswer,
  MonitorInput,
  PollAnswer,
  SignalledCompletion,
} from '../workflows/definitions';

export type { ActivityDeps } from './deps';

/** Creates all activities, over their dependencies; workflows see only the type. */
export const createActivities = (deps: ActivityDeps) => countRuns(deps, refuseUnreadable(activitiesOf(deps)));

/** Makes an activity of a function that takes a run's turns: a stopping worker refuses them. */
const turnActivity = <I extends { seen?: Seen }, A extends { seen?: Seen }>(
  deps: ActivityDeps,
  takeTurn: (input: I) => Promise<A>,
): ((input: I) => Promise<A>) => refusedWhileStopping(deps, answerSeen(takeTurn));

const activitiesOf = (deps: ActivityDeps) => ({
  claimBatches: turnActivity(deps, (input: TurnInput): Promise<TurnAnswer> =>
    claimBatches(
      {
        pool: deps.pool,
        leaseMs: deps.leaseMs,
        nodes: deps.nodes,
        wake: (leaders) => wake(deps, leaders),
        tellUnsent: (handler, ended) => tellUnsent(deps, handler, ended),
      },
      input,
    ).then((answer) => {
      const { leaderId, handler, name, installation } = input;
      if (answer.foreign === true)
        deps.log.warn(
          { leaderId, handler, leader: name, installation },
          'the run belongs to another leader than the one with this id in the store: the store was replaced, or another installation uses this namespace and prefix',
        );
      return answer;
    }),
  ),
  grantLanes: turnActivity(deps, (input: GrantInput): Promise<GrantAnswer> => grantLanes(deps, input)),
  balancePartitions: turnActivity(deps, (input: BalanceInput): Promise<BalanceAnswer> =>
    balancePartitions(deps, input),
  ),
  submitBatches: (input: DispatchInput): Promise<DispatchAnswer> => submitBatches(deps, input),
  deliverNotifications: (): Promise<DeliveryAnswer> => deliverNotifications(deps),
  pollAccepted: (input: MonitorInput): Promise<PollAnswer> => pollAccepted(deps, input),
  rollCall: answerSeen((input: RollCall): Promise<RollCallResponse> => rollCall(deps, input)),
  cancelExecution: ({ executionId }: Pick<RollCall, 'executionId'>): Promise<number | null> =>
    cancelWithChunks(deps.pool, executionId),
  workOrderBatch: (input: WorkOrderBatch): Promise<WorkOrderBatchResponse> => workOrderBatch(deps, input),
  completeAccepted: (input: MonitorInput & { told: CompletionSignal }): Promise<SignalledCompletion> =>
    completeSignalled(deps, input),
  knowsHandler: (input: MonitorInput & { told?: CompletionSignal }): Promise<boolean | SignalledCompletion> =>
    knowsHandler(deps, input),
  takeSignalled: (input: TakeInput): Promise<TakeAnswer> => takeSignalled(deps, input),
  ...createHelperActivities(deps),
  ...createFanoutActivities(deps),
});
export type Activities = ReturnType<typeof createActivities>;
