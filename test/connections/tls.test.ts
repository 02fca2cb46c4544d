import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import { migrate } from '../../postgres/migrating/migrate';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import type { EmbeddedPostgres } from '../../workers/embedded';
import { startPostgres } from '../../workers/embedded';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { Certificates } from './tls/certificates';

/**
 * TLS to Postgres: a server with a certificate of a private authority, which clients check.
 *
 * @slow
 */

let folder: string;
let certificates: Certificates;
let postgres: EmbeddedPostgres;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-tls-'));
  certificates = new Certificates(folder);
  certificates.authority('ours');
  certificates.authority('another');
  certificates.certificate('server', 'ours', 'IP:127.0.0.1');
  postgres = await startPostgres({ dataDir: path.join(folder, 'data') });
  const cluster = path.join(postgres.dataDir, 'cluster');
  const { uid, gid } = statSync(cluster);
  for (const name of ['server.crt', 'server.key']) {
    execFileSync('cp', [certificates.path(name), path.join(cluster, name)]);
    chownSync(path.join(cluster, name), uid, gid);
  }
  // A client without TLS is refused from now on.
  writeFileSync(path.join(cluster, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
  const pool = createPool({ databaseUrl: postgres.url, max: 1 });
  await pool.query("alter system set ssl_cert_file = 'server.crt'");
  await pool.query("alter system set ssl_key_file = 'server.key'");
  await pool.query('alter system set ssl = on');
  await pool.query('select pg_reload_conf()');
  await pool.end();
  await eventually(() => isEncrypted(secured('ours')).catch(() => false));
}, 60_000);
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

const secured = (ca: string | null, host = '127.0.0.1', mode = 'verify-full'): string => {
  const url = new URL(postgres.url);
  url.hostname = host;
  url.searchParams.set('sslmode', mode);
  if (ca !== null) url.searchParams.set('sslrootcert', certificates.path(`${ca}.pem`));
  return url.href;
};
const withPool = async <T>(databaseUrl: string, work: (pool: Pool) => Promise<T>): Promise<T> => {
  const pool = createPool({ databaseUrl, max: 2 });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
};
const isEncrypted = (databaseUrl: string): Promise<boolean> =>
  withPool(databaseUrl, async (pool) => {
    const { rows } = await pool.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
    return rows[0]!.ssl;
  });

test('with the authority in the URL: tables are made and tasks accepted, over TLS', async () => {
  const databaseUrl = secured('ours');
  expect(await isEncrypted(databaseUrl)).toBe(true);
  await migrate(databaseUrl);
  const handler = defineHandler<{ to: string }>({
    name: 'jobs',
    target: ({ to }) => to,
    limits: { maxItems: 5 },
    submit: () => Promise.reject(new Error('there is no worker')),
  });
  const client = createClient({ databaseUrl, handlers: [handler], temporal: { address: temporalAddress() } });
  expect(await client.submit('jobs', [{ id: 'a', payload: { to: 'a' } }])).toMatchObject({ accepted: 1 });
  expect(await client.getTask('a')).toMatchObject({ state: 'created' });
  await client.close();
});

test.each([
  ['another authority', () => secured('another')],
  ['no authority but those of the system', () => secured(null)],
  ['the authority, and a name that the certificate lacks', () => secured('ours', 'localhost')],
])('refused: %s', async (_what, url) => {
  await expect(isEncrypted(url())).rejects.toThrow(/self-signed|unable to|altnames|certificate/i);
  await expect(migrate(url())).rejects.toThrow(/self-signed|unable to|altnames|certificate/i);
});

test('without TLS the server refuses, and the URL is not shown', async () => {
  const thrown = await isEncrypted(secured(null, '127.0.0.1', 'disable')).then(
    () => null,
    (error: unknown) => error as Error,
  );
  expect(thrown).toBeInstanceOf(Error);
  expect(thrown!.message).not.toContain(new URL(postgres.url).password);
});
