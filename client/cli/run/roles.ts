import type { Command } from 'commander';
import { command } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const rolesCommand = (): Command =>
  command(
    'roles',
    'Print the SQL that makes the database roles muster_owner, muster_worker and muster_submit.',
    ['muster migrate roles > roles.sql', 'muster migrate roles --schema muster | psql "$ADMIN_URL"'],
    [
      'Run it as a superuser after "muster migrate", and again after each migration: it may be repeated.',
      'The roles cannot log in: make login users members of them. Nothing is asked of a server.',
    ].join('\n'),
  ).action(runs(roles));

async function roles(session: Session<object>): Promise<void> {
  const { schema } = await session.settings({});
  const { rolesSql } = await import('../../../postgres/migrating/roles.js');
  const sql = rolesSql(schema);
  session.out.answer({ schema, sql }, () => sql.trimEnd());
}
