import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Builds the Temporal server and its schema tool with Go, by the versions and hashes of `go.mod`
 * and `go.sum` beside this file: the first time takes some minutes.
 */

/** Where `go.mod` lies: beside this file, or where it was compiled from. */
const FOLDER = [__dirname, path.join(__dirname, '..', '..', '..', 'test', 'cluster')].find((folder) =>
  existsSync(path.join(folder, 'go.mod')),
)!;
const BIN = path.join(FOLDER, 'bin');
/** The dynamic config with which Muster is deployed. */
export const DYNAMIC_CONFIG = path.join(FOLDER, '..', '..', 'deploy', 'temporal-dynamic-config.yaml');

export interface Programs {
  server: string;
  sqlTool: string;
}

const PACKAGES = { server: 'go.temporal.io/server/cmd/server', sqlTool: 'go.temporal.io/server/cmd/tools/sql' };

/** Returns the programs, built if they are not there. Throws without Go or a module proxy. */
export const buildPrograms = (say: (line: string) => void): Programs => {
  mkdirSync(BIN, { recursive: true });
  const build = (name: keyof Programs): string => {
    const file = path.join(BIN, name);
    if (existsSync(file)) return file;
    say(`building ${PACKAGES[name]} with Go: some minutes`);
    const { status, error } = spawnSync('go', ['build', '-mod=readonly', '-o', file, PACKAGES[name]], {
      cwd: FOLDER,
      stdio: ['ignore', 2, 2],
    });
    if (error !== undefined)
      throw new Error(`Cannot build the Temporal server: ${error.message}. Install Go 1.26 or later.`);
    if (status !== 0) throw new Error(`Cannot build the Temporal server: go build ended with ${status}.`);
    return file;
  };
  return { server: build('server'), sqlTool: build('sqlTool') };
};

/** Runs the schema tool; throws with what it said if it fails. */
export const runTool = (file: string, args: readonly string[], password: string): void => {
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    encoding: 'utf8',
    env: { ...process.env, SQL_PASSWORD: password },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`Cannot set up Temporal's schema: ${stdout}${stderr}`);
};
