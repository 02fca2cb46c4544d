import { migrate } from '../../postgres/migrating/migrate';
import { createDatabase } from '../../postgres/testing/database';

/** One with Muster's tables. */
export const createStore = async (server: string, name: string): Promise<string> => {
  const databaseUrl = await createDatabase(server, name);
  await migrate(databaseUrl);
  return databaseUrl;
};
