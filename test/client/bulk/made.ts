import type { BulkStart, BulkView, Client } from '../../../client';
import { Selection } from '../../../client/bulk/selection';
import { makeBulkStep } from '../../../client/bulk/step';
import type { Handler } from '../../../handlers';

/** Makes all steps that are due, as a worker with these handlers does. */
export const makeSteps = async (client: Client, ...handlers: Handler[]): Promise<number> => {
  const known = new Map(handlers.map((handler) => [handler.name, handler]));
  for (let steps = 0; ; steps++) {
    const step = await makeBulkStep(client, { handlers: known });
    if (step === null) return steps;
    if (step.failure !== null) throw step.failure;
  }
};

/** Starts a bulk action, works it off, and returns what became of it. */
export const made = async (client: Client, input: BulkStart, ...handlers: Handler[]): Promise<BulkView> => {
  const { id } = await client.bulk.start(input);
  await makeSteps(client, ...handlers);
  return (await client.bulk.get(id))!;
};

/** Does something once the tasks of a step are chosen, before they are locked. */
export const afterChoice = (work: () => Promise<unknown>): void => {
  const { page } = Selection.prototype;
  let done = false;
  jest.spyOn(Selection.prototype, 'page').mockImplementation(async function (this: Selection, ...args) {
    const found = await page.apply(this, args);
    if (done || found.tasks.length === 0) return found;
    done = true;
    await work();
    return found;
  });
};
