import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createJiti } from 'jiti';

/**
 * The program of a module's process: the files of `guest/` in one text, since that process may
 * read no file. And the command that starts it, with limits of the system where there are any.
 */

const FOLDER = path.join(__dirname, 'guest');
const EXTENSION = path.extname(__filename);

/** Returns an expression: a function that takes `require`, and returns one that knows the files. */
export const guestSource = (): string => {
  const files = readdirSync(FOLDER)
    .filter((file) => file.endsWith(EXTENSION) && !file.endsWith('.d.ts'))
    .map((file) => {
      const name = JSON.stringify(`./${path.basename(file, EXTENSION)}`);
      return `${name}: (module, exports, require) => {\n${compiled(path.join(FOLDER, file))}\n}`;
    });
  return `(outer) => {
  const files = {${files.join(',\n')}};
  const loaded = new Map();
  const require = (name) => {
    if (!Object.hasOwn(files, name)) return outer(name);
    if (!loaded.has(name)) {
      const module = { exports: {} };
      loaded.set(name, module);
      files[name](module, module.exports, require);
    }
    return loaded.get(name).exports;
  };
  return require;
}`;
};

/** From dist/ as it is; from TypeScript (under jest, or jiti) through jiti. */
const compiled = (filename: string): string => {
  const source = readFileSync(filename, 'utf8');
  if (EXTENSION === '.js') return source;
  return createJiti(__filename).transform({ source, filename, ts: true });
};

export interface GuestLimits {
  /** Resident memory of the process, which its main thread watches. */
  residentBytes: number;
  /** Memory that it may map for its data, which the system limits. */
  dataBytes: number;
  /** Objects of the module's thread, in MiB. */
  heapMib: number;
}

/** Returns what the process reads first: its program, and the limits that it keeps itself. */
export const guestOpening = (source: string, { residentBytes, heapMib }: GuestLimits): Buffer => {
  const thread = `(${source})(require)('./thread')`;
  const program = Buffer.from(
    `(${source})(require)('./main').watch(${JSON.stringify({ source: thread, residentBytes, heapMib })})`,
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(program.length);
  return Buffer.concat([length, program]);
};

/** Reads the program from standard input: on the command line, every list of processes shows it. */
const BOOTSTRAP = `
const read = (length) => {
  const bytes = Buffer.alloc(length);
  for (let done = 0, part; done < length; done += part) {
    part = require('fs').readSync(0, bytes, done, length - done, null);
    if (part === 0) process.exit(1);
  }
  return bytes;
};
globalThis.require = require;
require('vm').runInThisContext(read(read(4).readUInt32LE(0)).toString());`;

const KIB = 1_024;
const DESCRIPTORS = 64;
/**
 * Each limit on a line: one that the system does not know leaves the others. Where memory runs
 * out, the system ends this process first. Its network is a new one that leads nowhere, where the
 * system lets a process have that.
 */
const LIMITED = `
{
  ulimit -c 0
  ulimit -n ${DESCRIPTORS}
  ulimit -d "$1"
  echo 1000 > /proc/self/oom_score_adj
  alone='unshare --user --map-current-user --net'
  # Alone, root has no rights over files of other users: the program may be one.
  $alone test -x "$2" || alone=
} 2> /dev/null
shift
exec $alone "$@"`;
const SHELL = '/bin/sh';
/** Before Node 22.13 it has the longer name. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

/** Returns the command of a module's process: it may read no file and start no process. */
export const guestCommand = ({ dataBytes }: GuestLimits): { file: string; args: string[] } => {
  const node = [
    process.execPath,
    '--title=muster-module',
    PERMISSION,
    '--allow-worker',
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    '--expose-gc',
    '--max-old-space-size=64',
    '-e',
    BOOTSTRAP,
  ];
  if (!existsSync(SHELL)) return { file: node[0]!, args: node.slice(1) };
  return { file: SHELL, args: ['-c', LIMITED, SHELL, String(Math.ceil(dataBytes / KIB)), ...node] };
};
