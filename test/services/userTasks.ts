import { WorkflowFailedError } from '@temporalio/client';
import { z } from 'zod';
import { defineHandler } from '../../handlers';

export interface Work {
  to: string;
  fail?: string;
  bytes?: number;
}

export const late = defineHandler({
  name: 'late',
  schema: z.object({ to: z.string() }).refine(async () => Promise.resolve(true)),
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  submit: () => Promise.resolve({ results: [] }),
});

/** The type of the failure that a workflow ended with, and its message. */
export const failureOf = async (
  run: Promise<unknown>,
): Promise<{ type: string; message: string; details: unknown }> => {
  const error = await run.then(
    () => Promise.reject(new Error('it succeeded')),
    (caught: unknown) => caught,
  );
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { type, message, details } = error.cause as unknown as { type: string; message: string; details: unknown };
  return { type, message, details };
};
