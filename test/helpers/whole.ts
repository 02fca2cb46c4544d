import type { Client } from '../../client';

/** Nothing that must not be is in the store. */
export const expectWhole = async (client: Client): Promise<void> => {
  const { checks } = await client.verify({ full: true });
  expect(checks.filter(({ violations }) => violations.length > 0)).toEqual([]);
};
