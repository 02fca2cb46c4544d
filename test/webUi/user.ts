import { openFanout, submitTasks } from '../../workflows/helper';

/** A user's workflow that submits tasks, and waits for the end of a fan-out. */
export const importOrders = async (prefix: string, ids: string[]): Promise<string> => {
  const fanout = await openFanout({ prefix, userKey: 'import-17' });
  await fanout.add(1);
  await submitTasks(
    'orders',
    ids.map((id) => ({ id, payload: { to: 'berlin' } })),
    { prefix },
  );
  await fanout.seal();
  await fanout.completed();
  return fanout.id;
};
