import type { Command } from 'commander';
import { command } from './support/command';
import type { Session } from './support/session';
import { runs } from './support/session';

export const migrateCommand = (): Command =>
  command(
    'migrate',
    "Make or update Muster's tables.",
    ['muster migrate --database-url postgres://user:password@host:5432/app', 'MUSTER_DATABASE_URL=... muster migrate'],
    'In a schema of its own (--schema, default muster). Safe to run from several places at once, and again.',
  ).action(runs(migrate));

async function migrate(session: Session): Promise<void> {
  const settings = await session.settings({ database: true });
  const store = await import('../../postgres/migrate.js');
  const ran = await store.migrate(settings.databaseUrl!, settings.schema, (line) => {
    if (session.options.debug === true) session.out.note(line);
  });
  const version = store.knownMigrations().at(-1) ?? null;
  session.out.answer({ schema: settings.schema, ran, version }, () =>
    ran.length === 0
      ? `schema ${settings.schema}: up to date (${version})`
      : `schema ${settings.schema}: ran ${ran.join(', ')}`,
  );
}
