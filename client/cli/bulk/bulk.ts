import type { Command } from 'commander';
import { Option } from 'commander';
import type { BulkDeed } from '../../bulk/input';
import { MusterError } from '../../errors';
import { STATES_OF_ACTION } from '../../../workflows/planning/bulk/actions';
import { command } from '../support/command';
import { exactJson } from '../support/exactJson';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import type { ChoosingOptions } from './options';
import { choosing } from './options';
import { listCommand, showCommand, stopCommand } from './look';
import { startFrom } from './start';

const NOTES =
  'The workers make it in steps of at most 500 tasks; it goes on when this command or a worker ends.\n' +
  'Exit code 1 if it was not confirmed, was stopped, or could not change some of the tasks.';

export const bulkCommand = (): Command => {
  const bulk = command(
    'bulk',
    'Cancel, redrive, resolve or update all tasks that match a filter: counted first, followed, stopped.',
    [
      'muster bulk redrive orders --state dead --error-code 503 --dry-run',
      'muster bulk redrive orders --state dead --error-code 503',
      'muster bulk list --open',
    ],
    NOTES,
  );
  for (const make of [cancel, redrive, resolve, update, listCommand, showCommand, stopCommand]) bulk.addCommand(make());
  return bulk;
};

const cancel = (): Command =>
  choosing(
    command('cancel', 'Cancel waiting tasks that are in no batch yet.', [
      'muster bulk cancel orders --target customer-17',
      'muster bulk cancel orders --until 7d --yes --detach',
    ]).argument('<handler>'),
  ).action(runs((session: Session<ChoosingOptions>, handler: string) => startFrom(session, handler, { do: 'cancel' })));

const redrive = (): Command =>
  choosing(
    command(
      'redrive',
      'Send ended or parked tasks again, with fresh attempts.',
      [
        'muster bulk redrive orders --state failed --error "no such column"',
        'muster bulk redrive orders --state succeeded --since 2h --limit 10',
      ],
      'An unknown task may have been applied, and a succeeded one was: sending it again may apply it twice.',
    )
      .argument('<handler>')
      .addOption(
        new Option('--state <state>', 'the state of the tasks').choices(STATES_OF_ACTION.redrive).makeOptionMandatory(),
      ),
  ).action(
    runs((session: Session<ChoosingOptions>, handler: string) => startFrom(session, handler, { do: 'redrive' })),
  );

interface ResolveOptions extends ChoosingOptions {
  as: 'succeeded' | 'failed';
  result?: string;
  reason?: string;
}
const resolve = (): Command =>
  choosing(
    command('resolve', 'End parked tasks, whose outcome is unknown.', [
      'muster bulk resolve orders --as succeeded --error "timed out" --since 1h',
      'muster bulk resolve orders --as failed --reason "refused, see ticket 5" --yes',
    ])
      .argument('<handler>')
      .addOption(
        new Option('--as <state>', 'outcome of the tasks').choices(['succeeded', 'failed']).makeOptionMandatory(),
      )
      .option('--result <json>', 'with --as succeeded: their result')
      .option('--reason <text>', 'with --as failed: their error'),
  ).action(
    runs((session: Session<ResolveOptions>, handler: string) => {
      const { as, result, reason } = session.options;
      return startFrom(session, handler, {
        do: 'resolve',
        as,
        ...(reason === undefined ? {} : { error: reason }),
        ...(result === undefined ? {} : { result: exactJson(result, '--result', 'INVALID_ARGUMENT') }),
      });
    }),
  );

interface UpdateOptions extends ChoosingOptions {
  payloadPatch?: string;
  priority?: number;
  weight?: number;
  notBefore?: string;
  expiresAt?: string;
}
const patchOf = (json: string): Record<string, unknown> =>
  exactJson(json, '--payload-patch', 'INVALID_ARGUMENT') as Record<string, unknown>;
const number = (text: string): number => Number(text);
const update = (): Command =>
  choosing(
    command(
      'update',
      'Change waiting tasks that are in no batch yet: payload, priority, weight, times.',
      [
        'muster bulk update orders --target customer-17 --priority -10',
        'muster bulk update orders --not-before 2030-01-31T06:00:00Z',
        'muster bulk update orders --error-code 503 --not-before now',
        `muster bulk update orders --payload-patch '{"currency":"EUR","note":null}' --dry-run`,
      ],
      'Tasks that are as wanted already are not counted. Tasks of lanes keep their order, and fail. ' +
        '--payload-patch does not go with --priority or --not-before: start two actions.',
    )
      .argument('<handler>')
      .option('--payload-patch <json>', 'members of the payload to replace; null removes one')
      .option('--priority <n>', 'a lower one goes first within its target', number)
      .option('--weight <n>', 'its part of what a call may weigh', number)
      .option('--not-before <time>', 'ISO time before which they join no batch, or now')
      .option('--expires-at <time>', 'ISO time at which those fail that still wait, or never'),
  ).action(
    runs((session: Session<UpdateOptions>, handler: string) => {
      const { payloadPatch, priority, weight, notBefore, expiresAt } = session.options;
      const deed: BulkDeed = {
        do: 'update',
        ...(payloadPatch === undefined ? {} : { payloadPatch: patchOf(payloadPatch) }),
        ...(priority === undefined ? {} : { priority }),
        ...(weight === undefined ? {} : { weight }),
        ...(notBefore === undefined ? {} : { notBefore: notBefore === 'now' ? null : notBefore }),
        ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === 'never' ? null : expiresAt }),
      };
      if (Object.keys(deed).length === 1)
        throw new MusterError(
          'INVALID_ARGUMENT',
          'expected --payload-patch, --priority, --weight, --not-before or --expires-at, got none. ' +
            'Say what is changed.',
        );
      return startFrom(session, handler, deed);
    }),
  );
