import { Command, InvalidArgumentError } from 'commander';
import type { ApiTokenRow, Scope } from '../../../postgres/api/token';
import { insertToken, lockToken, readTokens, replaceToken, revokeToken, SCOPES } from '../../../postgres/api/token';
import { findTenant } from '../../../postgres/api/tenant';
import { NotFoundError } from '../../errors';
import { CHANGE } from '../../tasks/failureTexts';
import { command, lifetimeOption, wholeOption } from '../support/command';
import { fields, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

const NOTES = `Scopes: submit (submit and cancel tasks, batches, fan-outs, executions), read (view), complete (report the
outcome of batches that the downstream accepted), operate (pause, flush, redrive, resolve, lanes, nodes), metrics
(/metrics), admin (all of these, and verify, queuers, reap). Only a hash is stored: a token is shown once, when it is
created. A revoked or expired token is refused within 2 s, and ends its streams. Once a token was made, every request
needs one, also of an API that was started with --open; revoking the last one does not open it again.

A token of a tenant sees and makes only what is the tenant's: tasks and lanes whose names begin with "<tenant>/", and
executions and fan-outs that it made. A token with --handler reaches only those handlers, and executions of functions
with these names: --handler http, for example. Anything else is answered as if it did not exist.`;

const scopesOption = (text: string): Scope[] => {
  const scopes = text.split(',').map((scope) => scope.trim());
  const wrong = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`Expected ${SCOPES.join(', ')} separated by commas, got "${wrong}".`);
  return [...new Set(scopes)] as Scope[];
};
const nameOption = (text: string): string => {
  if (text === '' || Buffer.byteLength(text) > 200) throw new InvalidArgumentError('Expected 1-200 bytes.');
  return text;
};
const handlersOption = (text: string, before: string[] = []): string[] => {
  if (!/^([\w.-]{1,64}\*?|\*)$/.test(text))
    throw new InvalidArgumentError('Expected the name of a handler, or its beginning and a *.');
  return [...before, text];
};
const OVERLAP_MS = 86_400_000;

const idArgument = (sub: Command): Command =>
  sub.argument('<id>', 'number of the token in the list', wholeOption(1, 2_147_483_647));

export const tokenCommand = (): Command =>
  command(
    'token',
    'Create, list, rotate and revoke tokens for the HTTP API.',
    [
      'muster token create --name ci --scope submit,read --expires 90d',
      "muster token create --name acme --scope submit,read --tenant acme --handler 'mail-*'",
      'muster token list',
      'muster token rotate 3 --overlap 1h',
      'muster token revoke 3',
    ],
    NOTES,
  )
    .addCommand(
      new Command('create')
        .description('Create a token; it is shown only once.')
        .requiredOption('--name <name>', 'owner or purpose, shown in the list', nameOption)
        .requiredOption('--scope <scopes>', `${SCOPES.join(', ')}, separated by commas`, scopesOption)
        .option('--tenant <name>', 'limit it to this tenant (default: it sees all)')
        .option('--handler <name>', 'limit it to this handler, or with * to a prefix; repeatable', handlersOption)
        .option('--expires <duration>', 'lifetime, such as 12h or 90d (default: unlimited)', lifetimeOption)
        .action(runs(create)),
    )
    .addCommand(new Command('list').description('List all tokens, without their secrets.').action(runs(list)))
    .addCommand(
      idArgument(new Command('rotate').description('Create a token in place of another one, with the same limits.'))
        .option('--overlap <duration>', 'lifetime left to the old one (default: 1d)', lifetimeOption)
        .action(runs(rotate)),
    )
    .addCommand(idArgument(new Command('revoke').description('Revoke a token.')).action(runs(revoke)));

/** Even a hash has no place in the audit. */
const withoutHash = ({ hash: _, ...rest }: ApiTokenRow): Omit<ApiTokenRow, 'hash'> => rest;

const viewOf = (row: Omit<ApiTokenRow, 'hash'>) => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  tenant: row.tenant,
  handlers: row.handlers,
  createdAt: row.createdAt.toISOString(),
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  lastUsedAt: row.usedAt?.toISOString() ?? null,
});

const answerToken = ({ out }: Session, token: string, made: Omit<ApiTokenRow, 'hash'>): void => {
  const view = viewOf(made);
  out.answer({ token, ...view }, () =>
    fields([
      ['token', token],
      ['id', view.id],
      ['name', view.name],
      ['scopes', view.scopes.join(', ')],
      ['tenant', view.tenant ?? 'all'],
      ['handlers', view.handlers?.join(', ') ?? 'all'],
      ['expires', view.expiresAt ?? 'never'],
      ['', 'Store it now: it is not shown again.'],
    ]),
  );
};

interface CreateOptions {
  name: string;
  scope: Scope[];
  tenant?: string;
  handler?: string[];
  expires?: number;
}

async function create(session: Session<CreateOptions>): Promise<void> {
  const { name, scope, tenant, handler, expires } = session.options;
  const client = await session.client();
  await client.ready();
  if (tenant !== undefined && (await findTenant(client.pool, tenant)) === null)
    throw new NotFoundError('tenant', tenant, `Create it first: muster tenant set ${tenant}`);
  const { newToken, hashToken } = await import('../../../workers/api/tokens.js');
  const token = newToken();
  const limits = { scopes: scope, tenant: tenant ?? null, handlers: handler ?? null, expiresInMs: expires ?? null };
  const act = { verb: 'create', subject: `token ${name}`, detail: limits };
  const made = await client.change(CHANGE, act, async () =>
    withoutHash(await insertToken(client.pool, { name, hash: hashToken(token), ...limits })),
  );
  answerToken(session, token, made);
}

async function list(session: Session): Promise<void> {
  const client = await session.client();
  await client.ready();
  const tokens = (await readTokens(client.pool)).map(viewOf);
  session.out.answer(tokens, () =>
    table(
      ['id', 'name', 'scopes', 'tenant', 'handlers', 'made', 'last used', 'expires', 'revoked'],
      tokens.map((one) => [
        one.id,
        one.name,
        one.scopes.join(', '),
        one.tenant,
        one.handlers?.join(', '),
        one.createdAt,
        one.lastUsedAt,
        one.expiresAt,
        one.revokedAt,
      ]),
    ),
  );
}

async function rotate(session: Session<{ overlap?: number }>, id: number): Promise<void> {
  const client = await session.client();
  await client.ready();
  const { newToken, hashToken } = await import('../../../workers/api/tokens.js');
  const { inTransaction } = await import('../../../postgres/pool.js');
  const token = newToken();
  const { overlap: overlapMs = OVERLAP_MS } = session.options;
  const act = { verb: 'rotate', subject: `token ${id}`, detail: { overlapMs } };
  const made = await client.change(CHANGE, act, async () => {
    const found = await inTransaction(client.pool, async (tx) => {
      await lockToken(tx, id);
      return replaceToken(tx, id, { hash: hashToken(token), overlapMs });
    });
    if (found === null)
      throw new NotFoundError(
        'valid token',
        String(id),
        'It was revoked, has expired, or was rotated: rotate its successor. See `muster token list`.',
      );
    return withoutHash(found);
  });
  answerToken(session, token, made);
}

async function revoke(session: Session, id: number): Promise<void> {
  const client = await session.client();
  await client.ready();
  const act = { verb: 'revoke', subject: `token ${id}` };
  const revoked = await client.change(CHANGE, act, async () => {
    const found = await revokeToken(client.pool, id);
    if (found === null) throw new NotFoundError('token', String(id), 'See `muster token list`.');
    return withoutHash(found);
  });
  session.out.answer(viewOf(revoked), () => `token ${id} (${revoked.name}) is revoked`);
}
