import { readFileSync } from 'node:fs';
import { describeThrown } from '../text';

export type Env = Readonly<Record<string, string | undefined>>;

/** The value of a variable, or why there is none. Both left out: it is not set. */
export interface ReadVariable {
  value?: string;
  problem?: string;
}

/** Ends the name of a variable that names a file with the value. */
const FILE = '_FILE';
const BYTES_MAX = 65_536;

/**
 * Returns a secret of the environment: the variable, or the content of the file that `<name>_FILE`
 * names, as container platforms mount it, without line breaks at its end. The problem names the
 * variable and the file, never what is in it.
 */
export const readVariable = (env: Env, name: string): ReadVariable => {
  const plain = given(env, name);
  const file = given(env, name + FILE);
  if (file === undefined) return plain === undefined ? {} : { value: plain };
  if (plain !== undefined) return { problem: `expected either ${name} or ${name}${FILE}, got both` };
  try {
    const bytes = readFileSync(file);
    if (bytes.length > BYTES_MAX)
      return { problem: `expected at most ${BYTES_MAX} bytes in ${file} (${name}${FILE}), got ${bytes.length}` };
    const value = bytes.toString().replace(/[\r\n]+$/, '');
    return value === '' ? { problem: `expected a value in ${file} (${name}${FILE}), got an empty file` } : { value };
  } catch (error) {
    return { problem: `expected a readable file at ${file} (${name}${FILE}): ${describeThrown(error)}` };
  }
};

/** Returns where a value came from: the variable, or its file's. */
export const variableOf = (env: Env, name: string): string =>
  given(env, name) === undefined && given(env, name + FILE) !== undefined ? name + FILE : name;

/** An empty variable counts as not set. */
const given = (env: Env, name: string): string | undefined => (env[name] === '' ? undefined : env[name]);
