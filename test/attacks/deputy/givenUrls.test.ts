import { sendWebhook } from '../../../activities/callbacks/webhook';
import { SCOPES } from '../../../postgres/api/token';
import type { ApiWorld } from '../../api/world';
import { openWorld } from '../../api/world';
import { rounds } from '../../helpers/long';
import { expectWhole } from '../../helpers/whole';
import { SECRET, startReceiver } from '../../services/notifier/receiver';
import type { Receiver } from '../../services/notifier/receiver';
import { Tally } from '../tally';
import { urlForms } from './urlForms';

/**
 * URLs in every spelling as a caller gives them to the HTTP API: for the callback of a task, to
 * notify at the end of a fan-out, and as the argument of an execution. Each is refused or stored,
 * and what was stored leads to no server but those of the list.
 *
 * @slow
 */

const tallies = {
  callback: new Tally('callback of a task over HTTP: spellings of a URL'),
  notify: new Tally('notify of a fan-out over HTTP: spellings of a URL'),
  execution: new Tally('execution of http over HTTP: spellings of a URL'),
};
let world: ApiWorld;
let token: string;
let internal: Receiver;
let good: Receiver;
let forms: string[];
beforeAll(async () => {
  [world, internal, good] = await Promise.all([openWorld(), startReceiver(), startReceiver()]);
  token = await world.token(...SCOPES);
  const every = rounds(20, 1);
  forms = urlForms(internal.port, `127.0.0.1:${good.port}`).filter((_, n) => n % every === 0);
});
afterAll(async () => {
  await world.stop();
  await Promise.all([internal.close(), good.close()]);
});

/** Sends what the API stored, as the notifier does; says what arrived. */
const deliver = async (url: string): Promise<string | null> => {
  const policy = { allow: [`127.0.0.1:${good.port}`], secret: SECRET };
  const resolve = async (): Promise<{ address: string; family: 4 }[]> => [{ address: '127.0.0.1', family: 4 }];
  const { signal } = new AbortController();
  await sendWebhook(policy, { id: 'msg_1', url, body: '{}' }, { signal, resolve, timeoutMs: 2_000 });
  const [first] = internal.received.splice(0);
  return first === undefined ? null : `${first.method} ${first.path} arrived`;
};

test('no spelling of a URL that the API takes leads elsewhere, and none is a 500', async () => {
  let stored = 0;
  const attempt = async (door: keyof typeof tallies, route: string, body: object, url: string): Promise<void> => {
    const { status, text } = await world.call(route, { token, body });
    const isStored = status < 300;
    if (isStored) stored++;
    const arrived = isStored && door !== 'execution' ? await deliver(url) : null;
    tallies[door].add(JSON.stringify(url), status >= 500 ? `${status} ${text}` : arrived);
  };
  for (const [n, url] of forms.entries()) {
    const task = { id: `t${n}`, payload: { to: 'a' }, callback: { url } };
    await attempt('callback', 'POST /v1/handlers/items/tasks', { tasks: [task] }, url);
    await attempt('notify', 'POST /v1/fanouts', { notify: { url } }, url);
    const template = { function_id: 'http', method: 'GET' };
    await attempt('execution', 'POST /v1/executions', { template, arguments: [[url]] }, url);
  }
  expect(stored).toBeGreaterThan(forms.length);
  expect(world.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  await expectWhole(world.client);
  for (const tally of Object.values(tallies)) tally.expectNoneThrough(rounds(300, 7_000));
}, 900_000);

test('what the list names arrives', async () => {
  good.received.length = 0;
  expect(await deliver(`${good.url}/`)).toBe(null);
  expect(good.received).toHaveLength(1);
});
