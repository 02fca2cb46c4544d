import pg from 'pg';
import { migrate } from '../../postgres/migrating/migrate';

/** A new database of this server; its address. */
export const createDatabase = async (server: string, name: string): Promise<string> => {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`).finally(() => admin.end());
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
};

/** One with Muster's tables. */
export const createStore = async (server: string, name: string): Promise<string> => {
  const databaseUrl = await createDatabase(server, name);
  await migrate(databaseUrl);
  return databaseUrl;
};
