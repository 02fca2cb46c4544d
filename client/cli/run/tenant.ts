import { Command, InvalidArgumentError } from 'commander';
import type { TenantLimits, TenantRow, Unfinished } from '../../../postgres/api/tenant';
import {
  deleteTenant,
  findTenant,
  readBacklog,
  readTenants,
  readUnfinished,
  NO_QUOTAS,
  upsertTenant,
} from '../../../postgres/api/tenant';
import { InvalidArgumentError as RefusedError, NotFoundError } from '../../errors';
import { CHANGE } from '../../tasks/failureTexts';
import { command, wholeOption } from '../support/command';
import { fields, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

const NOTES = `Tokens of the HTTP API can be limited to a tenant: muster token create --tenant <name>. Names of its tasks
and lanes, and of its targets in lanes, begin with "<name>/". Its quotas are checked before anything is written; a
submit beyond one gets 429.`;

const nameArgument = (text: string): string => {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(text))
    throw new InvalidArgumentError('Expected 1-63 of a-z, 0-9 and -, the first of them no -.');
  return text;
};
const quota = wholeOption(0);
const quotaOfInt = wholeOption(0, 100_000);

export const tenantCommand = (): Command =>
  command(
    'tenant',
    'Create, limit, list and delete tenants of the HTTP API.',
    [
      'muster tenant set acme --max-queued 100000 --max-executions 5',
      'muster tenant list',
      'muster tenant delete acme',
    ],
    NOTES,
  )
    .addCommand(
      new Command('set')
        .description('Create a tenant, or set its quotas; those left out are unlimited.')
        .argument('<name>', 'name of the tenant', nameArgument)
        .option('--max-queued <n>', 'tasks that wait', quota)
        .option('--max-bytes <n>', 'bytes of their payloads, tags, metadata, dependencies and state keys', quota)
        .option('--max-targets <n>', 'targets with such tasks, at most 100,000', quotaOfInt)
        .option('--max-executions <n>', 'executions that have not ended', quotaOfInt)
        .option('--max-items <n>', 'unfinished fan-outs, and items of those and of executions', quota)
        .option('--max-per-second <n>', 'tasks and items accepted per second by each process of the API', quotaOfInt)
        .action(runs(set)),
    )
    .addCommand(new Command('list').description('List tenants: what they use, and their quotas.').action(runs(list)))
    .addCommand(
      new Command('delete')
        .description('Delete a tenant that has no valid tokens; its tasks stay.')
        .argument('<name>', 'name of the tenant', nameArgument)
        .action(runs(remove)),
    );

const viewOf = ({ createdAt, ...rest }: TenantRow) => ({ ...rest, createdAt: createdAt.toISOString() });
const shown = (limit: number | null): string => (limit === null ? 'unlimited' : String(limit));

async function set(session: Session<Partial<TenantLimits>>, name: string): Promise<void> {
  const client = await session.client();
  await client.ready();
  const given = { ...NO_QUOTAS, ...session.options };
  const { maxQueued, maxBytes, maxTargets, maxExecutions, maxItems, maxPerSecond } = given;
  const limits: TenantLimits = { maxQueued, maxBytes, maxTargets, maxExecutions, maxItems, maxPerSecond };
  const act = { verb: 'set', subject: `tenant ${name}`, detail: limits };
  const made = viewOf(await client.change(CHANGE, act, () => upsertTenant(client.pool, name, limits)));
  session.out.answer(made, () =>
    fields([
      ['tenant', made.name],
      ['queued tasks', shown(made.maxQueued)],
      ['bytes', shown(made.maxBytes)],
      ['targets', shown(made.maxTargets)],
      ['executions', shown(made.maxExecutions)],
      ['items', shown(made.maxItems)],
      ['per second', shown(made.maxPerSecond)],
    ]),
  );
}

interface Uses extends Unfinished {
  queued: number;
  bytes: number;
  targets: number;
}

/** Targets that are counted where a tenant has no quota of them. */
const COUNTED_TARGETS = 100_000;

async function list(session: Session): Promise<void> {
  const client = await session.client();
  await client.ready();
  const tenants: (ReturnType<typeof viewOf> & { uses: Uses })[] = [];
  for (const tenant of await readTenants(client.pool)) {
    const { queued, bytes, targets } = await readBacklog(client.pool, `${tenant.name}/`, COUNTED_TARGETS);
    const unfinished = await readUnfinished(client.pool, tenant.name);
    tenants.push({ ...viewOf(tenant), uses: { queued, bytes, targets: targets.length, ...unfinished } });
  }
  const of = (used: number, most: number | null): string => (most === null ? String(used) : `${used} of ${most}`);
  session.out.answer(tenants, () =>
    table(
      ['tenant', 'queued', 'bytes', 'targets', 'executions', 'items', 'per second'],
      tenants.map((one) => [
        one.name,
        of(one.uses.queued, one.maxQueued),
        of(one.uses.bytes, one.maxBytes),
        of(one.uses.targets, one.maxTargets),
        of(one.uses.executions, one.maxExecutions),
        of(one.uses.items, one.maxItems),
        shown(one.maxPerSecond),
      ]),
    ),
  );
}

async function remove(session: Session, name: string): Promise<void> {
  const client = await session.client();
  await client.ready();
  const act = { verb: 'delete', subject: `tenant ${name}` };
  const deleted = await client.change(CHANGE, act, () => deleteTenant(client.pool, name));
  if (!deleted && (await findTenant(client.pool, name)) === null)
    throw new NotFoundError('tenant', name, 'See `muster tenant list`.');
  if (!deleted)
    throw new RefusedError(
      'name',
      'a tenant without valid tokens',
      name,
      'Revoke them first: see `muster token list`.',
    );
  session.out.answer({ deleted: name }, () => `tenant ${name} is deleted`);
}
