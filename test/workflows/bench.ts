import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { noPartitions } from '../helpers/noPartitions';
import { createShared } from '../../activities/createShared';
import { ExecutionMeters } from '../../activities/executions/meters';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import { Heartbeat } from '../../activities/nodes/heartbeat';
import type { Client as TemporalClient } from '@temporalio/client';
import pino from 'pino';
import { makeCall, prepare } from '../../activities/calls/attempt';
import { settle } from '../../activities/calls/settle';
import { claimBatches } from '../../activities/grouping/claim';
import type { Handler } from '../../handlers';
import type { CallerDeps } from '../../activities/calls/carried';
import { createClient } from '../../client';
import type { Client } from '../../client';
import { readDispatch } from '../../postgres/calls/batch';
import { readInstallation } from '../../postgres/installation';
import type { TurnAnswer } from '../../workflows/messages';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { Requests } from '../../workflows/temporal/requests';
import { HandlerCounts } from '../../workflows/temporal/handlerCounts';
import { Outcomes } from '../../activities/outcomes/outcomes';
import { OutcomeMeters } from '../../activities/outcomes/meters';

const LEASE_MS = 15_000;

/**
 * A leader's run, as the claim sees it: who asks, since when, which turn. The test is the workflow.
 */
export interface Run {
  runId: string;
  runStartedAtMs: number;
}

/**
 * The store without Temporal: wakes are only counted, turns and dispatches are taken by the test,
 * in the order that it wants to see.
 */
export interface Bench {
  database: TestDatabase;
  client: Client;
  /** Wakes sent so far, and the workflows that they were for. */
  wakes: { count: number; ids: string[] };
  turn(
    run: Run,
    turn: number,
    options?: { live?: number[]; mayClaim?: boolean; leaderId?: number },
  ): Promise<TurnAnswer>;
  /** What a dispatch closes over, for its parts. */
  dispatch(answer: TurnAnswer, handler: Handler, leaderId?: number): Promise<CallerDeps>;
  stop(): Promise<void>;
}

export const openBench = async (handlers: readonly Handler[]): Promise<Bench> => {
  const database = await createDatabase();
  const wakes = { count: 0, ids: [] as string[] };
  const temporal = {
    withDeadline: (_: number, send: () => Promise<unknown>) => send(),
    workflow: {
      signalWithStart: (_: unknown, { workflowId }: { workflowId: string }) => {
        wakes.count++;
        wakes.ids.push(workflowId);
        return Promise.resolve();
      },
    },
  } as unknown as TemporalClient;
  const log = pino({ level: 'silent' });
  const client = createClient({ databaseUrl: database.url, handlers, temporal: { client: temporal } });
  const wake = (): Promise<void> => Promise.resolve();
  const served = new Map(handlers.map((handler) => [handler.name, handler]));
  const requests = new Requests(temporal);
  const base = { pool: database.pool, temporal, requests, handlers: served, node: 'bench', prefix: 'bench', log };
  // All dispatches are those of one process.
  const shared = createShared({ ...base, outcomes: new Outcomes(new OutcomeMeters(served.keys()), log) });
  return {
    database,
    client,
    wakes,
    turn: (run, turn, { live = [], mayClaim = true, leaderId = 1 } = {}) =>
      claimBatches(
        { pool: database.pool, leaseMs: LEASE_MS, nodes: DEFAULT_NODE_SETTINGS, wake, tellUnsent: wake },
        { ...run, leaderId, turn, live, mayClaim },
      ),
    dispatch: async (answer, handler, leaderId = 1) => ({
      ...base,
      ...shared,
      runs: new HandlerCounts(),
      handlers: new Map([[handler.name, handler]]),
      installation: await readInstallation(database.pool),
      leaseMs: LEASE_MS,
      softDeadlineMs: 10_000,
      callbacks: { allow: [], secret: null },
      executions: DEFAULT_EXECUTION_SETTINGS,
      heartbeat: new Heartbeat({ pool: database.pool, log }),
      ...noPartitions(database.pool, 'bench'),
      use: null,
      meters: new ExecutionMeters(),
      acceptTasks: () => Promise.reject(new Error('no workflow submits here')),
      draining: new AbortController().signal,
      handler,
      input: {
        leaderId,
        handler: handler.name,
        epoch: answer.epoch,
        no: answer.dispatch!.no,
        slots: answer.dispatch!.slots,
      },
      signal: new AbortController().signal,
      home: shared.homes.queue,
    }),
    stop: async () => {
      await client.close();
      await database.drop();
    },
  };
};

/** Runs one dispatch as its activity would: marks, calls and settles each batch. */
export const carry = async (deps: CallerDeps): Promise<void> => {
  for (const one of await prepare(deps, await readDispatch(deps.pool, deps.input.leaderId, deps.input.no))) {
    const { call, outcome } = await makeCall(deps, one);
    await settle(call, outcome);
  }
};
