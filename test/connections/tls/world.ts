import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CliProcess } from '../../cli/process';
import type { World } from '../../cli/world';
import { createWorld, order } from '../../cli/world';
import { Certificates } from './certificates';

/** A folder of the command line, and certificates of two authorities. */
export interface TlsWorld extends World {
  certificates: Certificates;
  /** Runs a command that must end by itself: its code, and all that it said. */
  command(args: string, env: Env): Promise<Ended>;
  close(): Promise<void>;
}
export type Env = Readonly<Record<string, string>>;
export interface Ended {
  code: number | string;
  text: string;
}

export const createTlsWorld = async (): Promise<TlsWorld> => {
  const world = await createWorld();
  const certificates = new Certificates(mkdtempSync(path.join(tmpdir(), 'muster-tls-')));
  for (const name of ['ours', 'another']) certificates.authority(name);
  certificates.certificate('server', 'ours', 'IP:127.0.0.1');
  certificates.certificate('client', 'ours', 'DNS:client');
  return {
    ...world,
    certificates,
    command: async (args, env) => {
      const { exit, stdout, stderr } = world.start(args, env);
      return { code: await exit, text: stdout() + stderr() };
    },
    close: async () => {
      await world.close();
      rmSync(certificates.folder, { recursive: true });
    },
  };
};

/** The certificate and key of a server. */
export const identityOf = (certificates: Certificates, name: string) => ({
  cert: certificates.read(`${name}.crt`),
  key: certificates.read(`${name}.key`),
});

/**
 * Sends tasks through every door with these settings: the worker, a submit that waits, and the API.
 * All of them succeed, and no wake is lost. Returns all that was said.
 */
export const useEveryDoor = async (world: TlsWorld, env: Env): Promise<string> => {
  const id = randomUUID();
  const worker = world.start('worker', env);
  await worker.says(/"msg":"ready"/);
  const file = world.write('tasks.ndjson', [order(`${id}-1`, 'se'), order(`${id}-2`, 'no')]);
  const submitted = await world.command(`submit orders --file ${file} --wait --timeout 60s`, env);
  expect([submitted.code, submitted.text]).toEqual([0, expect.not.stringContaining('could not be woken')]);
  const api = world.start('api --port 0 --open', env);
  await api.says(/"msg":"api: ready"/);
  const url = /"url":"([^"]+)"/.exec(api.stderr())![1]!;
  const body = JSON.stringify({ tasks: [order(`${id}-3`, 'dk')] });
  const headers = { 'content-type': 'application/json' };
  const posted = await fetch(`${url}/v1/handlers/orders/tasks`, { method: 'POST', headers, body });
  expect([posted.ok, await posted.text()]).toEqual([true, expect.any(String)]);
  const found = await fetch(`${url}/v1/tasks/${id}-3?wait=30`);
  expect(await found.json()).toMatchObject({ state: 'succeeded' });
  for (const running of [api, worker]) await stopped(running);
  expect(api.stderr()).not.toMatch(/a ring failed/);
  return [submitted.text, ...[api, worker].map((one) => one.stdout() + one.stderr())].join('\n');
};

const stopped = async (running: CliProcess): Promise<void> => {
  running.child.kill('SIGTERM');
  expect(await running.exit).toBe(0);
};

/** Fails where a secret stands in a text. */
type Hides = (text: string) => void;

/**
 * Worker and API end with code 3 and say what to do, without waiting. A server that refuses a
 * certificate after the handshake closes the connection, too: where the client still wrote, it sees
 * that instead of the alert, and only its next try is told why.
 */
export const expectRefusedAtOnce = async (world: TlsWorld, env: Env, said: RegExp, hides: Hides): Promise<void> => {
  for (const command of ['worker', 'api --port 0 --open']) {
    const { code, text } = await world.command(command, env);
    expect([command, code, text]).toEqual([command, 3, expect.stringMatching(/Error: Cannot connect to Temporal at /)]);
    expect(text).toMatch(said);
    const tries = text.split('\n').filter((line) => line.includes('Trying again'));
    expect(tries.filter((line) => !line.includes('if it ends connections, the client certificate'))).toEqual([]);
    hides(text);
  }
};

/** A submit is accepted, and says why no worker was told. */
export const expectAcceptedUntold = async (world: TlsWorld, env: Env, said: RegExp, hides: Hides): Promise<void> => {
  const file = world.write('refused.ndjson', [order(`refused-${randomUUID()}`, 'se')]);
  const { code, text } = await world.command(`submit slow --file ${file}`, env);
  expect([code, text]).toEqual([0, expect.stringMatching(/Note: .*\(Cannot connect to Temporal at /)]);
  expect(text).toMatch(said);
  hides(text);
};
