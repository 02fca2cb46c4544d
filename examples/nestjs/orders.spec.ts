import 'reflect-metadata';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createClient } from 'temporal-muster';
import type { Servers } from 'temporal-muster/testing';
import { startServers } from 'temporal-muster/testing';
import { AppModule } from './app.module';
import { Downstream } from './orders/downstream';

/** The application on real servers: a request, a task, a call, and a shutdown that drains. */

interface Sent {
  customer: string;
  ids: string[];
}
const sent: Sent[] = [];
let answers: Promise<string[]> = Promise.resolve([]);
let servers: Servers;
let app: INestApplication;
let url: string;

const start = async (): Promise<void> => {
  const { databaseUrl, temporalAddress: address } = servers;
  app = await NestFactory.create(AppModule.with({ databaseUrl, temporal: { address } }), { logger: ['error'] });
  // The provider is the real one; only its way to the network is played.
  app.get(Downstream, { strict: false }).send = (customer, orders) => {
    sent.push({ customer, ids: orders.map(({ id }) => id) });
    return answers;
  };
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
};

beforeAll(async () => {
  servers = await startServers();
  const muster = path.join(path.dirname(require.resolve('temporal-muster/package.json')), 'bin', 'muster.js');
  const env = { ...process.env, MUSTER_DATABASE_URL: servers.databaseUrl };
  await promisify(execFile)(process.execPath, [muster, 'migrate'], { env });
  await start();
});
afterAll(async () => {
  await app?.close();
  await servers?.stop();
});
beforeEach(() => {
  sent.length = 0;
  answers = Promise.resolve([]);
});

const put = (id: string, order: unknown) =>
  fetch(`${url}/orders/${id}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(order),
  });
const stateOf = async (id: string): Promise<{ state?: string; error?: string }> =>
  (await (await fetch(`${url}/orders/${id}`)).json()) as { state?: string; error?: string };
const until = async (holds: () => Promise<boolean> | boolean): Promise<void> => {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('waited a minute in vain');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

test('requests are accepted, share a call of the injected downstream, and are looked up', async () => {
  answers = Promise.resolve(['o2']);
  const ids = ['o1', 'o2', 'o3'];
  const responses = await Promise.all(ids.map((id) => put(id, { customer: 'ada', total: 1 })));
  expect(responses.map(({ status }) => status)).toEqual([202, 202, 202]);
  expect(await (await put('o1', { customer: 'ada', total: 1 })).json()).toEqual({ accepted: 0 });
  await until(async () => (await stateOf('o3')).state === 'succeeded');
  expect(sent.flatMap(({ ids: of }) => of).sort()).toEqual(ids);
  expect(sent.length).toBeLessThan(3);
  expect(await stateOf('o2')).toEqual({ state: 'failed', error: 'refused' });
});

test('what is no task is refused, and what is unknown is not found', async () => {
  const { status } = await put('o4', { total: 1 }); // no customer, so no target
  expect(status).toBe(400);
  expect((await fetch(`${url}/orders/never`)).status).toBe(404);
});

test('a shutdown lets the call that runs end, and its outcome is recorded', async () => {
  let release: (refused: string[]) => void = () => undefined;
  answers = new Promise((resolve) => (release = resolve));
  await put('o5', { customer: 'bob', total: 1 });
  await until(() => sent.length === 1);
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await until(async () => !(await fetch(`${url}/orders/o5`).catch(() => null))?.ok);
  expect(closed).toBe(false);
  release([]);
  await closing;
  const client = createClient({ databaseUrl: servers.databaseUrl });
  expect(await client.getTask('o5')).toMatchObject({ state: 'succeeded', attempts: 1 });
  await client.close();
  await start(); // and another one begins where it was
  await put('o6', { customer: 'bob', total: 1 });
  await until(async () => (await stateOf('o6')).state === 'succeeded');
});
