import type { Command } from 'commander';
import { command } from '../support/command';
import { printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const explainCommand = (): Command =>
  command(
    'explain',
    "Explain a task's state, what it is waiting for, and its earliest next step.",
    ['muster explain order-17', 'muster explain order-17 --json | jq -r .waitsFor'],
    'Reads Postgres, so it works while Temporal is down; if a leader has stalled, it also asks Temporal about its run.',
  )
    .argument('<task>', 'id of the task')
    .action(runs(explain));

async function explain(session: Session, id: string): Promise<void> {
  const client = await session.client();
  const explained = await client.explain(id);
  session.out.answer(explained, () => printable(explained.text));
}
