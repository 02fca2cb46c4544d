import type { BulkStart, BulkView, Client } from '../../../client';
import { makeBulkStep } from '../../../client/bulk/step';

/** Makes all steps that are due, as a worker does. */
export const makeSteps = async (client: Client): Promise<number> => {
  for (let steps = 0; ; steps++) {
    const step = await makeBulkStep(client);
    if (step === null) return steps;
    if (step.failure !== null) throw step.failure;
  }
};

/** Starts a bulk action, works it off, and returns what became of it. */
export const made = async (client: Client, input: BulkStart): Promise<BulkView> => {
  const { id } = await client.bulk.start(input);
  await makeSteps(client);
  return (await client.bulk.get(id))!;
};
