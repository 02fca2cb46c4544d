import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../helpers/eventually';
import { freePort } from '../helpers/machine/freePort';

/** Servers that others wrote, installed by Maven or npm on first use into the user's cache. */

interface Program {
  name: string;
  version: string;
  /** Installs it into the empty folder in which this is run. */
  install: { command: string; args: string[]; files?: Record<string, string> };
  /** The command that serves on a port; `folder` is empty and the server's own. */
  serve(installed: string, port: number, folder: string): Promise<{ command: string; args: string[] }>;
  /** A path at which it answers once it serves. */
  path: string;
}

/** Copies a program of Maven's, with all it needs, into `lib`. */
const byMaven = (group: string, artifact: string, version: string): Program['install'] => ({
  command: 'mvn',
  args: ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'],
  files: {
    'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>servers</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
  </dependency></dependencies>
</project>`,
  },
});
const jarsOf = (installed: string): string => path.join(installed, 'lib', '*');

const ELASTICMQ_VERSION = '1.6.12';
export const ELASTICMQ: Program = {
  name: 'elasticmq',
  version: ELASTICMQ_VERSION,
  install: byMaven('org.elasticmq', 'elasticmq-server_2.13', ELASTICMQ_VERSION),
  serve: async (installed, port, folder) => {
    const config = path.join(folder, 'elasticmq.conf');
    const settings = `rest-sqs { bind-hostname = "127.0.0.1", bind-port = ${port} }\nrest-stats.enabled = false\n`;
    await writeFile(config, `include classpath("application.conf")\n${settings}`);
    return {
      command: 'java',
      args: [`-Dconfig.file=${config}`, '-cp', jarsOf(installed), 'org.elasticmq.server.Main'],
    };
  },
  path: '/health',
};

const DYNAMODB_LOCAL_VERSION = '2.5.4';
export const DYNAMODB_LOCAL: Program = {
  name: 'dynamodb-local',
  version: DYNAMODB_LOCAL_VERSION,
  install: byMaven('com.amazonaws', 'DynamoDBLocal', DYNAMODB_LOCAL_VERSION),
  serve: async (installed, port) => ({
    command: 'java',
    args: [
      `-Dsqlite4java.library.path=${path.join(installed, 'lib')}`, // its native code
      ...['-cp', jarsOf(installed), 'com.amazonaws.services.dynamodbv2.local.main.ServerRunner'],
      ...['-inMemory', '-disableTelemetry', '-port', String(port)],
    ],
  }),
  path: '/',
};

const DYNALITE_VERSION = '4.0.0';
export const DYNALITE: Program = {
  name: 'dynalite',
  version: DYNALITE_VERSION,
  install: {
    command: 'npm',
    args: ['install', '--no-audit', '--no-fund', '--ignore-scripts', `dynalite@${DYNALITE_VERSION}`],
    files: { 'package.json': '{ "private": true }' },
  },
  serve: async (installed, port) => ({
    command: process.execPath,
    args: [
      path.join(installed, 'node_modules', 'dynalite', 'cli.js'),
      ...['--host', '127.0.0.1', '--port', String(port), '--createTableMs', '0'],
    ],
  }),
  path: '/',
};

const INSTALL_MS = 300_000;

const run = promisify(execFile);

async function install({ name, version, install: { command, args, files = {} } }: Program): Promise<string> {
  const cache = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'muster', 'examples');
  const folder = path.join(cache, `${name}-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    for (const [file, text] of Object.entries(files)) await writeFile(path.join(draft, file), text);
    await run(command, args, { cwd: draft, timeout: INSTALL_MS });
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error; // else another process was faster
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

export interface OtherServer {
  url: string;
  stop(): Promise<void>;
}

/** Starts a server on a free port of loopback. */
export async function startServer(program: Program): Promise<OtherServer> {
  const [installed, port] = [await install(program), await freePort()];
  const folder = await mkdtemp(path.join(tmpdir(), `${program.name}-`));
  const { command, args } = await program.serve(installed, port, folder);
  const child = spawn(command, args, { cwd: folder, stdio: 'ignore' });
  const gone = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${url}${program.path}`).then(
      () => true,
      () => false,
    );
  await eventually(answers, { timeoutMs: 60_000, what: () => `${program.name} at ${url}` });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await gone;
    await rm(folder, { recursive: true });
  };
  return { url, stop };
}
