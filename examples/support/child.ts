import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface ExampleProcess {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Resolves when it is gone, with how: `exit code 1`, `SIGKILL`. */
  readonly ended: Promise<string>;
  /** SIGTERM, then SIGKILL after 5 s; resolves when the process is gone. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface ChildOptions {
  /** Flags for node itself, such as `--max-old-space-size=64`. */
  nodeArgs?: string[];
  env?: Record<string, string>;
  /** Longest wait for the ready line. Default 30 s. */
  readyMs?: number;
}

/**
 * Starts one of the example servers (a compiled script) and waits for its line
 * `{"ready":true,"port":N}`. Other lines of its output go to our stderr. The child ends with us,
 * even when we are killed.
 * @throws Error when the child ends or stays silent instead of getting ready, with the last of its
 * stderr.
 */
export async function startChild(script: string, args: string[], options: ChildOptions = {}): Promise<ExampleProcess> {
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), script, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env, MUSTER_EXAMPLE_PARENT: 'stdin' },
  });
  child.stdin.on('error', () => undefined); // a child that is gone has closed it
  try {
    const port = await readyPort(child, script, options.readyMs ?? 30_000);
    const end = (signal: NodeJS.Signals) => () => endChild(child, signal);
    const ended = new Promise<string>((resolve) =>
      child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`)),
    );
    return {
      port,
      url: `http://127.0.0.1:${port}`,
      pid: child.pid ?? 0,
      ended,
      stop: end('SIGTERM'),
      kill: end('SIGKILL'),
    };
  } catch (error) {
    await endChild(child, 'SIGKILL');
    throw error;
  }
}

async function readyPort(child: ChildProcess, script: string, readyMs: number): Promise<number> {
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-4000);
    process.stderr.write(chunk);
  });
  return new Promise<number>((resolve, reject) => {
    const fail = (what: string) => reject(new Error(`${script} ${what} before it was ready\n${stderr}`));
    const timer = setTimeout(() => fail(`said nothing for ${readyMs} ms`), readyMs);
    child.once('error', reject);
    child.once('close', (code, signal) => fail(`ended with ${signal ?? `exit code ${code}`}`));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const port = portOf(line);
      if (port === undefined) {
        process.stderr.write(`${line}\n`);
        return;
      }
      clearTimeout(timer);
      resolve(port);
    });
  });
}

function portOf(line: string): number | undefined {
  try {
    const value = JSON.parse(line) as { ready?: boolean; port?: number };
    return value.ready === true ? value.port : undefined;
  } catch {
    return undefined;
  }
}

async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
    return;
  }
  const gone = once(child, 'close');
  child.kill(signal);
  const hard = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await gone;
  clearTimeout(hard);
}
