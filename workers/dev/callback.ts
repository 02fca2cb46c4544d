import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CallbackSettings } from '../config/callbacks';

/**
 * Returns the callback settings of `muster dev`, which listens without any configuration: on this
 * machine, with a secret that stays with the data, so that URLs outlive a restart.
 */
export const devCallback = (dataDir: string, settings: CallbackSettings): CallbackSettings => ({
  ...settings,
  ...(settings.port === null ? { port: USUAL_PORT, elsewhere: true } : {}),
  secrets: settings.secrets.length > 0 ? settings.secrets : [keptSecret(path.join(dataDir, 'callback-secret'))],
});

/** Beside those of Temporal (7233) and its Web UI (8233). */
const USUAL_PORT = 8234;

const keptSecret = (file: string): string => {
  try {
    writeFileSync(file, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8');
};
