import type { ReferenceStatus } from '../../contract';

const AT_ONCE = 8;

/**
 * How long a batch that ends within 24 hours, as OpenAI's and Anthropic's do, is asked for: two
 * hours more.
 */
export const BATCH_DEADLINE_MS = 26 * 3_600_000;

/**
 * Returns the states of many references of an API that has no call for many, a few at a time. One
 * that cannot be asked is still pending, with the reason as its error.
 */
export async function statusesOf(
  references: readonly string[],
  ask: (reference: string) => Promise<ReferenceStatus>,
): Promise<ReferenceStatus[]> {
  const found: ReferenceStatus[] = [];
  const queue = references.entries();
  const runner = async (): Promise<void> => {
    for (const [place, reference] of queue) found[place] = await ask(reference);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
  return found;
}
