import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../helpers/eventually';

/** ElasticMQ, a server of SQS' protocol, by Maven: on first use into the user's cache (25 MB). */

const VERSION = '1.6.12';
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>servers</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.elasticmq</groupId><artifactId>elasticmq-server_2.13</artifactId><version>${VERSION}</version>
  </dependency></dependencies>
</project>`;
const INSTALL_MS = 300_000;

const run = promisify(execFile);

async function install(): Promise<string> {
  const cache = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'muster', 'examples');
  const folder = path.join(cache, `elasticmq-${VERSION}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    await writeFile(path.join(draft, 'pom.xml'), POM);
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], {
      cwd: draft,
      timeout: INSTALL_MS,
    });
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error; // else another process was faster
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface ElasticMq {
  url: string;
  stop(): Promise<void>;
}

/** Starts the server on a free port of loopback. Needs Java 11 or newer, and Maven once. */
export async function startElasticMq(): Promise<ElasticMq> {
  const [folder, port] = [await install(), await freePort()];
  const config = path.join(await mkdtemp(path.join(tmpdir(), 'elasticmq-')), 'elasticmq.conf');
  const settings = `rest-sqs { bind-hostname = "127.0.0.1", bind-port = ${port} }\nrest-stats.enabled = false\n`;
  await writeFile(config, `include classpath("application.conf")\n${settings}`);
  const jars = path.join(folder, 'lib', '*');
  const child = spawn('java', [`-Dconfig.file=${config}`, '-cp', jars, 'org.elasticmq.server.Main'], {
    stdio: 'ignore',
  });
  const gone = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(answers, { timeoutMs: 60_000, what: () => `ElasticMQ at ${url}` });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await gone;
    await rm(path.dirname(config), { recursive: true });
  };
  return { url, stop };
}
