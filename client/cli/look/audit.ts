import type { Command } from 'commander';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import type { AuditView } from '../../../workflows/contracts/audit';
import { command, wholeOption } from '../support/command';
import { table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  limit: number;
  before?: number;
  who?: string;
  subject?: string;
}

export const auditCommand = (): Command =>
  command(
    'audit',
    'List who changed what, when and from where, newest first.',
    ['muster audit', "muster audit --subject 'handler orders'", "muster audit --who 'token 3 (ci)' --json"],
    'Shown are changes by the client, the command line and the API; not submits, acks and completions.',
  )
    .option('--limit <n>', 'maximum number of entries to list', wholeOption(1, PAGE_MAX), 100)
    .option('--before <id>', 'start before this entry', wholeOption(1))
    .option('--who <name>', 'only changes by this caller')
    .option('--subject <text>', 'only changes of this')
    .action(runs(audit));

async function audit(session: Session<Options>): Promise<void> {
  const { limit, before, who, subject } = session.options;
  const client = await session.client();
  const list = await client.audit.list({
    limit,
    ...(before === undefined ? {} : { before }),
    ...(who === undefined ? {} : { who }),
    ...(subject === undefined ? {} : { subject }),
  });
  session.out.answer(list, () => show(list, limit));
}

const show = (list: readonly AuditView[], limit: number): string => {
  if (list.length === 0) return 'No such changes.';
  const more = list.length === limit ? `\nShowing ${limit}; for more: --before ${list.at(-1)!.id}` : '';
  const rows = list.map(({ id, at, who, door, origin, verb, subject, outcome }) => [
    id,
    at,
    origin === null ? `${who}, ${door}` : `${who}, ${door}, ${origin}`,
    verb,
    subject,
    outcome ?? 'not known',
  ]);
  return `${table(['id', 'when', 'who', 'did', 'to', 'outcome'], rows)}${more}`;
};
