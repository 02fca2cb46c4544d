import { createClient } from '../../client';
import { fifty } from './fifty';

/** A process of its own that registers tasks one by one, all at once, when it is told to. */
const { databaseUrl, prefix, address, ids } = JSON.parse(process.argv[2]!) as RegistrarSettings;

export interface RegistrarSettings {
  databaseUrl: string;
  prefix: string;
  address: string;
  ids: string[];
}

const client = createClient({ databaseUrl, handlers: [fifty], prefix, temporal: { address } });
const register = async (): Promise<void> => {
  await Promise.all(ids.map((id) => client.submit('fifty', { id, payload: {} })));
  await client.close();
  process.disconnect();
};
process.once('message', () => void register());
process.send!('ready');
