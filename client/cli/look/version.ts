import type { Command } from 'commander';
import { packageVersion } from '../../version';
import { command } from '../support/command';
import { fields } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const versionCommand = (): Command =>
  command('version', 'Show the versions of Muster, Node, Postgres and Temporal.', [
    'muster version',
    'muster version --json | jq -r .muster',
  ]).action(runs(version));

async function version(session: Session): Promise<void> {
  const [{ defaultBuildId }, { knownMigrations }] = await Promise.all([
    import('../../../workers/temporal/versioning.js'),
    import('../../../postgres/migrating/files.js'),
  ]);
  const answer = {
    muster: packageVersion(),
    buildId: defaultBuildId(),
    schema: knownMigrations().at(-1) ?? null,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
  session.out.answer(answer, () => fields(Object.entries(answer)));
}
