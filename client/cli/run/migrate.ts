import { Option } from 'commander';
import type { Command } from 'commander';
import type { PlannedMigration } from '../../../postgres/migrating/plan';
import { command } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { rolesCommand } from './roles';

const PLAN = ['--plan', 'only print the SQL that would run'] as const;

interface Options {
  plan?: boolean;
  roles?: boolean;
}

export const migrateCommand = (): Command =>
  command(
    'migrate',
    "Create or update Muster's tables.",
    [
      'muster migrate --database-url postgres://user:password@host:5432/app',
      'MUSTER_DATABASE_URL=... muster migrate',
      'muster migrate --plan > upgrade.sql',
      'muster migrate --roles',
      'muster migrate down --plan',
    ],
    [
      'The tables are in a separate schema (--schema, default muster). Safe to run repeatedly, from several places',
      'at once, and while workers and clients of the previous version keep running. --plan only reads; another tool',
      'may run the SQL it prints. --roles then does what "muster migrate roles" prints: as a superuser, or as the',
      'owner of the database who is a member of muster_owner, where the three roles exist.',
    ].join('\n'),
  )
    .option(...PLAN)
    .addOption(new Option('--roles', 'then give the database roles what they need on the tables').conflicts('plan'))
    .action(runs(migrate))
    .addCommand(
      command(
        'down',
        'Undo the newest migration, if possible.',
        ['muster migrate down --plan', 'muster migrate down', 'muster migrate down --to 000001'],
        'Run it with the program that contains the migration, after all workers and clients of that version have stopped. Seldom needed:\nthe previous version runs on the tables as they are.',
      )
        .option('--to <migration>', 'undo all migrations after this one')
        .option(...PLAN)
        .action(runs(down)),
    )
    .addCommand(rolesCommand());

async function migrate(session: Session<Options>): Promise<void> {
  const { databaseUrl, schema } = await session.settings({ database: true });
  const store = await import('../../../postgres/migrating/migrate.js');
  if (session.options.plan === true)
    return answerPlan(session, schema, await store.plannedMigrations(databaseUrl!, schema));
  const ran = await store.migrate(databaseUrl!, schema, debugLog(session));
  if (session.options.roles === true) await store.grantRoles(databaseUrl!, schema, debugLog(session));
  const version = await newestMigration();
  session.out.answer({ schema, ran, version }, () =>
    ran.length === 0 ? `schema ${schema}: up to date (${version})` : `schema ${schema}: ran ${ran.join(', ')}`,
  );
}

async function down(session: Session<Options & { to?: string }>): Promise<void> {
  const { databaseUrl, schema } = await session.settings({ database: true });
  const store = await import('../../../postgres/migrating/migrate.js');
  const { plan, to } = session.options;
  if (plan === true) return answerPlan(session, schema, await store.plannedDown(databaseUrl!, schema, to));
  const undone = await store.migrateDown(databaseUrl!, schema, to, debugLog(session));
  session.out.answer({ schema, undone }, () =>
    undone.length === 0 ? `schema ${schema}: nothing to undo` : `schema ${schema}: undid ${undone.join(', ')}`,
  );
}

const answerPlan = ({ out }: Session, schema: string, plan: readonly PlannedMigration[]): void =>
  out.answer({ schema, plan }, () =>
    plan.length === 0 ? `-- ${schema}: nothing to run` : plan.map(({ sql }) => sql).join('\n'),
  );

const debugLog =
  ({ options, out }: Session) =>
  (line: string): void => {
    if (options.debug === true) out.note(line);
  };

const newestMigration = async (): Promise<string | null> =>
  (await import('../../../postgres/migrating/files.js')).knownMigrations().at(-1) ?? null;
