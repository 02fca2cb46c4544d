import { rmSync } from 'node:fs';
import { loadSettings } from '../../workers/config/config';
import { makeFolder } from './world';

/** Gives each test of a file a folder for its config file, and what settings are read in it. */
export const useConfigFolder = () => {
  let cwd = '';
  beforeEach(() => void (cwd = makeFolder()));
  afterEach(() => rmSync(cwd, { recursive: true }));
  return {
    get cwd(): string {
      return cwd;
    },
    load: (env: Record<string, string> = {}) =>
      loadSettings({}, {}, { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: cwd, ...env } }),
  };
};
