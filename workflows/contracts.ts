import { z } from 'zod';

/** What crosses a process between workflows, activities and client. Workflows import these types only: zod stays out of the sandbox. */

export const leaderInput = z.object({
  leaderId: z.number().int(),
  handler: z.string(),
  /** The set's name: `0`..`n-1`, or the target's key with `leaders: 'target'`. */
  name: z.string(),
  /** Of the wake that started the run: it need not look before. */
  dueInMs: z.number().min(0).default(0),
  /** Turns after which the run continues as new; tests lower it. */
  turnsPerRun: z.number().int().positive().default(500),
});
export type LeaderInput = z.infer<typeof leaderInput>;

export const turnInput = z.object({
  leaderId: z.number().int(),
  runId: z.string(),
  runStartedAtMs: z.number(),
  /** The workflow's decision number; a repeat of one writes nothing (DESIGN section 4.3). */
  turn: z.number().int().positive(),
  /** Submissions in flight that the workflow knows. */
  live: z.array(z.number().int()),
  /** False: only look, start nothing (draining before continue-as-new). */
  mayClaim: z.boolean(),
  /** Answer what waits too: for the Web UI, now and then. */
  backlog: z.boolean().optional(),
});
export type TurnInput = z.infer<typeof turnInput>;

export const turnAnswer = z.object({
  /** Another, later run leads: this one must end. */
  deposed: z.boolean(),
  epoch: z.number().int(),
  /** The submission to start now. */
  dispatch: z
    .object({ no: z.number().int(), batches: z.number().int(), tasks: z.number().int(), slots: z.number().int() })
    .nullable(),
  /** More can be claimed at once. */
  again: z.boolean(),
  next: z.enum(['idle', 'working', 'waiting']),
  /** With `waiting`: look again after this long. */
  dueInMs: z.number().nullable(),
  lastReason: z.string().nullable(),
  /** Why due work is not claimed, for the Web UI. */
  heldBy: z.string().nullable(),
  /** What waits, when asked for; counted up to `MOST_COUNTED`. */
  backlog: z.object({ targets: z.number().int(), tasks: z.number().int() }).optional(),
});
export type TurnAnswer = z.infer<typeof turnAnswer>;

export const dispatchInput = z.object({
  leaderId: z.number().int(),
  handler: z.string(),
  epoch: z.number().int(),
  no: z.number().int(),
  slots: z.number().int(),
  /** Of a queuer's submitter: its batches are granted, not claimed. */
  queuerId: z.number().int().optional(),
});
export type DispatchInput = z.infer<typeof dispatchInput>;

export const dispatchAnswer = z.object({
  batches: z.number().int(),
  tasks: z.number().int(),
  handedBack: z.number().int(),
  /** The submission's last transaction published the leader idle: nothing is left, the run may end. */
  released: z.boolean(),
});
export type DispatchAnswer = z.infer<typeof dispatchAnswer>;

export const queuerInput = z.object({
  queuerId: z.number().int(),
  /** Turns after which the run continues as new; tests lower it. */
  turnsPerRun: z.number().int().positive().default(500),
});
export type QueuerInput = z.input<typeof queuerInput>;

/** A queuer's turn: as a leader's. */
export const grantInput = turnInput.omit({ leaderId: true }).extend({ queuerId: z.number().int() });
export type GrantInput = z.infer<typeof grantInput>;

export const grantAnswer = turnAnswer.omit({ dispatch: true, lastReason: true, backlog: true }).extend({
  /** The submitters to start now, each with the batches of its slots granted. */
  submitters: z.array(
    z.object({ no: z.number().int(), handler: z.string(), slots: z.number().int(), batches: z.number().int() }),
  ),
});
export type GrantAnswer = z.infer<typeof grantAnswer>;
