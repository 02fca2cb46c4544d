import { sendWebhook } from '../../../activities/callbacks/webhook';
import { httpExecutor } from '../../../activities/executions/executors/http';
import { httpHandler } from '../../../handlers/http/httpHandler';
import { SECRET, startReceiver } from '../../services/notifier/receiver';
import type { Receiver } from '../../services/notifier/receiver';
import { rounds } from '../../helpers/long';
import { Tally } from '../tally';
import { urlForms } from './urlForms';

/**
 * URLs that a caller chooses, in every spelling, at each door that compares them with a list: none
 * reaches the internal server. `good` is what the list names.
 *
 * @slow
 */

let internal: Receiver;
let good: Receiver;
let forms: string[];
beforeAll(async () => {
  [internal, good] = await Promise.all([startReceiver(), startReceiver()]);
  forms = sampled(urlForms(internal.port, `127.0.0.1:${good.port}`));
});
afterAll(async () => {
  await Promise.all([internal.close(), good.close()]);
});
beforeEach(() => void internal.received.splice(0));

/** In `npm test` some of them: the same ones for the same seed. */
const SEED = 7;
const sampled = (all: readonly string[]): string[] => {
  const every = rounds(3, 1);
  return all.filter((_, n) => (n * 31 + SEED) % every === 0);
};

const signal = new AbortController().signal;
/** A name server in the attacker's hands. */
const resolve = async (): Promise<{ address: string; family: 4 }[]> => [{ address: '127.0.0.1', family: 4 }];
/** Each form, also with the name of an allowed host in place of its address. */
const withNames = (): string[] => [
  ...new Set(forms.flatMap((form) => [form, form.replaceAll(`127.0.0.1:${good.port}`, 'hooks.example.com')])),
];
/** What arrived at the internal server since the last look. */
const arrived = (): string | null => {
  const [first] = internal.received.splice(0);
  return first === undefined ? null : `${first.method} ${first.path} arrived`;
};

describe('webhooks', () => {
  const tally = new Tally('callbacks.allow: spellings of a URL');
  const send = (url: string, allow: string[]) =>
    sendWebhook({ allow, secret: SECRET }, { id: 'msg_1', url, body: '{}' }, { signal, resolve, timeoutMs: 2_000 });

  test('what the list names arrives', async () => {
    expect(await send(`${internal.url}/`, [`127.0.0.1:${internal.port}`])).toEqual({ kind: 'delivered' });
    expect(arrived()).toBe('POST / arrived');
  });

  test('no spelling of another address does', async () => {
    const lists = [[`127.0.0.1:${good.port}`], ['hooks.example.com:*'], ['http://hooks.example.com:*', '127.0.0.1:1']];
    for (const allow of lists)
      for (const form of withNames()) {
        await send(form, allow);
        tally.add(`${JSON.stringify(form)} with ${allow.join(', ')}`, arrived());
      }
    tally.expectNoneThrough(rounds(2_000, 7_000));
  });
});

describe('the function http', () => {
  const tally = new Tally('executions.httpAllow: spellings of a URL');
  const limits = { stdoutBytes: 100, stderrBytes: 100 };
  const caller = (httpAllow: string[]) =>
    httpExecutor(httpAllow, { functionId: 'http', method: 'GET', concurrency: 1, limits }, resolve);
  const given = { method: 'GET', env: {}, position: 0, executionId: 'e', signal };

  test('what the list names arrives', async () => {
    const executor = caller([`127.0.0.1:${internal.port}`]);
    expect(await executor.run([`${internal.url}/`], given)).toMatchObject({ exitCode: 0 });
    await executor.close();
    expect(arrived()).toBe('GET / arrived');
  });

  test('no spelling of another address does', async () => {
    const lists = [
      [`127.0.0.1:${good.port}`, '[::1]:1', 'hooks.example.com'],
      ['hooks.example.com:*', '127.0.0.1:1'],
    ];
    for (const allow of lists) {
      const executor = caller(allow);
      for (const form of withNames()) {
        await executor.run([form], given);
        tally.add(`${JSON.stringify(form)} with ${allow.join(', ')}`, arrived());
      }
      await executor.close();
    }
    tally.expectNoneThrough(rounds(2_000, 7_000));
  });
});

describe('templates of a handler', () => {
  const tally = new Tally('request.url, statusUrl: values in a template');
  const handler = () =>
    httpHandler({
      kind: 'http',
      name: 'bulk',
      target: 'to',
      limits: { maxItems: 10 },
      request: { url: `${good.url}/v1/{{target}}/_bulk` },
      response: { perItem: false },
      accepted: { reference: 'id' },
      statusUrl: { url: `${good.url}/v1/status/{{reference}}/now`, status: 'state' },
      resultsUrl: { url: `${good.url}/v1/results/{{reference}}/now` },
      reconcileUrl: { url: `${good.url}/v1/calls/{{target}}/{{idempotencyKey}}/now` },
      cancelUrl: { url: `${good.url}/v1/stop/{{reference}}/now` },
    });
  const values = (): string[] => [
    ...forms,
    '..',
    '.',
    '',
    '%2e%2e',
    '%2e',
    '..;',
    '/..',
    '\\..\\',
    '?x',
    '#x',
    '\0',
    '\r\nHost: x',
  ];
  const context = { signal, idempotencyKey: 'key', deadline: Date.now() + 60_000 };
  /** Exactly one part of the path, and the rest as written. */
  const PATHS = /^\/v1\/([^/?#\\]*\/_bulk|(status|results|stop)\/[^/?#\\]*\/now|calls\/[^/?#\\]*\/key\/now)$/;

  test('no value leaves its place, and none chooses the server', async () => {
    const { submit, status, results, cancel, reconcile } = handler();
    const every = rounds(4, 1); // each is five calls
    const tried = values().filter((_, n) => n % every === 0 || n >= forms.length);
    for (const value of tried) {
      const batch = {
        id: '1',
        handler: 'bulk',
        target: value,
        tasks: [{ id: 't', payload: { to: value }, attempts: 1 }],
        epoch: 1,
        attempt: 1,
      };
      good.received.length = 0;
      await Promise.allSettled([
        submit(batch as never, context as never),
        status!([value], context as never),
        results!(value, context as never),
        cancel!(value, context as never),
        reconcile!(batch as never, context as never),
      ]);
      const wrong = good.received.find(
        ({ path, headers }) => !PATHS.test(path) || headers.host !== `127.0.0.1:${good.port}`,
      );
      const fault = arrived() ?? (wrong === undefined ? null : `${wrong.path} at ${wrong.headers.host}`);
      tally.add(JSON.stringify(value), fault);
    }
    tally.expectNoneThrough(500);
  });
});
