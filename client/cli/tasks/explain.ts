import type { Command } from 'commander';
import { command } from '../support/command';
import { printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const explainCommand = (): Command =>
  command(
    'explain',
    'Say where a task is, what it waits for and when it goes on at the earliest.',
    ['muster explain order-17', 'muster explain order-17 --json | jq -r .waitsFor'],
    'Reads Postgres, and answers also while Temporal is down; where a leader stands still it asks Temporal about its run.',
  )
    .argument('<task>', 'id of the task')
    .action(runs(explain));

async function explain(session: Session, id: string): Promise<void> {
  const client = await session.client();
  const explained = await client.explain(id);
  session.out.answer(explained, () => printable(explained.text));
}
