import type { Command } from 'commander';
import type { Certificate } from '../../../handlers/trials/certify';
import { UnknownHandlerError } from '../../errors';
import { command } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { plural, printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

const NOTES = `Needs no Postgres and no Temporal, and calls nothing but a fake downstream on this machine: partial
failures, refusals with each kind of Retry-After, answers lost before and after the effect, half
answers, duplicates, poison tasks at each place, slow answers, cancellation. The fake counts what it
applied. Sinks bring what this needs; another handler needs a "trial" (docs/sinks.md).
Exit code 1 unless every case that applies is passed, and at least 40 do.
With --json: {"handler", "passed", "run", "skipped", "certified", "cases"}.`;

export const certifyCommand = (): Command =>
  command(
    'certify',
    'Drive a handler and a fake downstream through every kind of failure, and print a grade.',
    ['muster certify muster.config.ts orders', 'muster certify muster.config.ts orders --verbose'],
    NOTES,
  )
    .argument('<config>', 'the config file')
    .argument('<handler>', 'a handler of it')
    .option('--verbose', 'show the cases that were passed, too')
    .action(runs(certifyHandler));

async function certifyHandler(session: Session<{ verbose?: boolean }>, config: string, name: string): Promise<number> {
  const { handlers } = await session.settings({ handlers: true }, { config });
  const handler = handlers.find((one) => one.name === name);
  if (handler === undefined)
    throw new UnknownHandlerError(
      name,
      handlers.map((one) => one.name),
    );
  const { certifyHandler: certified } = await import('../../../handlers/trials/certify.js');
  const certificate = await certified(handler);
  session.out.answer(certificate, () => describe(certificate, session.options.verbose === true));
  return certificate.certified ? EXIT.ok : EXIT.failed;
}

/** As long as the longest word of a case's status. */
const STATUS_WIDTH = 7;

const describe = ({ handler, passed, run, skipped, certified, cases }: Certificate, isVerbose: boolean): string => {
  const shown = cases.filter(({ status }) => isVerbose || status !== 'passed');
  return [
    ...shown.map(({ status, name, why, ms }) =>
      printable(`${status.padEnd(STATUS_WIDTH)} ${name}: ${status === 'passed' ? `${ms} ms` : why}`),
    ),
    `${handler}: ${passed}/${run}${certified ? ', certified' : ', not certified'}` +
      `${skipped === 0 ? '' : ` (${plural(skipped, 'case')} not applicable)`}`,
  ].join('\n');
};
