import type { Command } from 'commander';
import type { Check } from '../../../workers/doctor/check';
import type { Diagnosis } from '../../../workers/doctor/doctor';
import type { Settings } from '../../../workers/config/config';
import type { Client } from '../../client';
import { command } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { printable, table } from '../support/output';
import { expectInstalled } from '../support/optionalPackages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const doctorCommand = (): Command =>
  command(
    'doctor',
    'Check what this installation stands on: config, Postgres, Temporal, workers.',
    ['muster doctor', 'muster doctor --json | jq ".checks[] | select(.state != \\"ok\\")"'],
    [
      'Looks at the config, at Postgres (version, pooler, connections, clock, tables and what became of them),',
      'Temporal (namespace, timers, search attribute), and who serves the handlers. Changes nothing, but for',
      'a workflow that measures timers and ends. Exit code 1 if a check failed; warnings leave it at 0.',
    ].join('\n'),
  ).action(runs(doctor));

async function doctor(session: Session): Promise<number> {
  expectInstalled('temporal');
  const diagnosis = await diagnose(session);
  session.out.answer(diagnosis, () => show(diagnosis));
  return diagnosis.ok ? EXIT.ok : EXIT.failed;
}

const diagnose = async (session: Session): Promise<Diagnosis> => {
  const [{ examine, examineProblems }, { createLogger, installRuntime }, { SettingsError }] = await Promise.all([
    import('../../../workers/doctor/doctor.js'),
    import('../../../workers/logging.js'),
    import('../../../workers/config/settingsError.js'),
  ]);
  let settings: Settings;
  try {
    settings = await session.settings({ database: true });
  } catch (error) {
    if (error instanceof SettingsError) return examineProblems(error);
    throw error;
  }
  installRuntime(createLogger('silent'), { shared: true, onPoisoned: () => undefined });
  let client: Promise<Client> | undefined;
  const connect = (): Promise<Client> => (client ??= session.client());
  return examine(settings, {
    status: async () => (await connect()).status(),
    nodes: async () => (await connect()).nodes.list(),
  });
};

const show = ({ ok, checks }: Diagnosis): string =>
  [
    table(
      ['check', '', 'found'],
      checks.map(({ name, state, says }) => [name, state === 'failed' ? 'FAILED' : state, says]),
    ),
    ...checks.flatMap(remedyOf),
    ok
      ? checks.every(({ state }) => state === 'ok')
        ? 'Nothing is wrong.'
        : 'Nothing failed; see the warnings.'
      : 'Something failed; see above.',
  ].join('\n');

const remedyOf = ({ name, remedy }: Check): string[] => (remedy === null ? [] : [printable(`${name}: ${remedy}`)]);
