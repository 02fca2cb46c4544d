import type { Command } from 'commander';
import { NotFoundError } from '../../errors';
import { command } from '../support/command';
import { fields } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const taskCommand = (): Command =>
  command('task', 'Show one task: its state, attempts, and result or error.', [
    'muster task order-17',
    'muster task order-17 --json | jq .result',
  ])
    .argument('<id>')
    .action(runs(task));

async function task(session: Session, id: string): Promise<void> {
  const client = await session.client();
  const found = await client.getTask(id);
  if (found === null)
    throw new NotFoundError('task', id, 'It was never accepted, or it was deleted after its retention period.');
  session.out.answer(found, () => fields(Object.entries(found)));
}
