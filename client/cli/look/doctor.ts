import type { Command } from 'commander';
import type { Check } from '../../../workers/doctor/check';
import type { Diagnosis } from '../../../workers/doctor/doctor';
import { command } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { printable, table } from '../support/output';
import { expectInstalled } from '../support/optionalPackages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const doctorCommand = (): Command =>
  command(
    'doctor',
    'Check what this installation stands on: Postgres, Temporal, tables, workers.',
    ['muster doctor', 'muster doctor --json | jq ".checks[] | select(.state != \\"ok\\")"'],
    [
      'Looks at Postgres (version, connections, clock, tables), Temporal (namespace, timers, search attribute),',
      'and whether live workers serve the handlers of the config. Changes nothing, but for a workflow that',
      'measures timers and ends. Exit code 1 if a check failed; warnings leave it at 0.',
    ].join('\n'),
  ).action(runs(doctor));

async function doctor(session: Session): Promise<number> {
  expectInstalled('temporal');
  const settings = await session.settings({ database: true });
  const [{ examine }, { createLogger, installRuntime }] = await Promise.all([
    import('../../../workers/doctor/doctor.js'),
    import('../../../workers/logging.js'),
  ]);
  installRuntime(createLogger('silent'), { shared: true, onPoisoned: () => undefined });
  const diagnosis = await examine(settings, async () => (await session.client()).status());
  session.out.answer(diagnosis, () => show(diagnosis));
  return diagnosis.ok ? EXIT.ok : EXIT.failed;
}

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
