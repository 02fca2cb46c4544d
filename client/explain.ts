import { readExplainFacts } from '../postgres/explain';
import type { ExplainFacts, Explanation } from '../workflows/planning/explain';
import { explain as explainFacts } from '../workflows/planning/explain';
import { leaderStateName, taskStateName } from '../workflows/planning/states';
import { checkName } from './arguments';
import type { ClientContext } from './context';
import { NODE_LIVE_MS } from './context';
import { NotFoundError } from './errors';

/** Where a task is, what it waits for and when something happens next at the earliest (G13), from Postgres alone. */
export const explain = async (client: ClientContext, id: string): Promise<Explanation> => {
  checkName('id', id);
  await client.ready();
  const row = await readExplainFacts(client.pool, id, NODE_LIVE_MS);
  if (row === null)
    throw new NotFoundError('task', id, 'It was never accepted, or it ended and its retention is over.');
  const facts = {
    ...row,
    state: taskStateName(row.state),
    leader: { ...row.leader, state: leaderStateName(row.leader.state) },
  };
  return explainFacts(facts as unknown as ExplainFacts);
};
