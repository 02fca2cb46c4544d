import { createHmac } from 'node:crypto';
import type { CallerDeps } from '../../../activities/calls/carried';
import type { Call } from '../../../activities/calls/call';
import { contextOf } from '../../../activities/calls/request';
import type { HandlerOptions } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { SILENT_LOG } from '../../../handlers/logging/boundLog';
import type { CallbackKey } from '../../../workers/callbacks/token';
import { callbackUrl, isCallbackToken, readCallbackPath } from '../../../workers/callbacks/token';

/** The URLs of downstreams: they expire, and outlive the replacement of their secret. */

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2030, 0, 31, 12);
const [OLD, NEW, OTHER] = ['o'.repeat(32), 'n'.repeat(32), 'x'.repeat(32)];
const key = (...secrets: string[]): CallbackKey => ({ secrets, installation: 'here' });
const batch = { id: 81, createdUs: NOW * 1_000 - 5 };
const made = (of: CallbackKey, validMs = 7 * DAY_MS): string =>
  new URL(callbackUrl('https://muster.example.com/base/', of, batch, validMs, NOW)).pathname;
const isTaken = (of: CallbackKey, path: string, atMs = NOW): boolean => {
  const read = readCallbackPath(path);
  return read !== null && isCallbackToken(of, read.batch, read.token, atMs);
};

test('a URL is valid until its time, to the second, and no longer', () => {
  const path = made(key(OLD));
  expect(path).toMatch(/^\/base\/callbacks\/81\.\d{16}\.\d{10}\/[\w-]{43}$/);
  expect(isTaken(key(OLD), path, NOW)).toBe(true);
  expect(isTaken(key(OLD), path, NOW + 7 * DAY_MS - 1)).toBe(true);
  expect(isTaken(key(OLD), path, NOW + 7 * DAY_MS)).toBe(false);
});

describe('a URL is valid for as long as its batch may be open', () => {
  const openMs = (changes: Partial<HandlerOptions>): number => {
    let asked = 0;
    const handler = defineHandler({
      name: 'orders',
      target: () => 'A',
      limits: { maxItems: 1 },
      timeoutMs: 1_000,
      poll: { deadlineMs: 20 * DAY_MS },
      submit: async () => ({ status: 'accepted', reference: 'job-17' }),
      ...changes,
    });
    const callbackUrlOf: CallerDeps['callbackUrl'] = (_, ms) => {
      asked = ms;
      return 'https://muster.example.com';
    };
    const deps = { handler, log: SILENT_LOG, callbackUrl: callbackUrlOf } as unknown as CallerDeps;
    contextOf(deps, { batch, attempt: 1, fence: null } as unknown as Call);
    return asked;
  };

  test('until its deadline', () => {
    expect(openMs({})).toBe(1_000 + 20 * DAY_MS);
  });

  test('in a lane until the last of its deadlines', () => {
    expect(openMs({ lane: {} })).toBe(1_000 + 3 * 20 * DAY_MS);
    expect(openMs({ service: () => 's', lane: { deadlines: 2 } })).toBe(1_000 + 2 * 20 * DAY_MS);
  });
});

test('its time, batch and second of creation are signed', () => {
  const path = made(key(OLD));
  const [, prefix, id, createdUs, expiresS, mac] = /^(.*\/)(\d+)\.(\d+)\.(\d+)\/(.*)$/.exec(path)!;
  const spelled = (parts: (string | number)[], token = mac): string => `${prefix}${parts.join('.')}/${token}`;
  expect(isTaken(key(OLD), spelled([id!, createdUs!, expiresS!]))).toBe(true);
  for (const wrong of [
    spelled([id!, createdUs!, Number(expiresS) + 1]),
    spelled([82, createdUs!, expiresS!]),
    spelled([id!, Number(createdUs) + 1, expiresS!]),
    spelled([id!, createdUs!]),
    spelled([id!, createdUs!, expiresS!], mac!.slice(0, -1)),
    spelled([id!, createdUs!, expiresS!], ''),
  ])
    expect([wrong, isTaken(key(OLD), wrong)]).toEqual([wrong, false]);
  expect(isTaken({ secrets: [OLD], installation: 'elsewhere' }, path)).toBe(false);
});

test('a secret is replaced without a gap: the first signs, all are accepted, a removed one no more', () => {
  const before = made(key(OLD));
  const during = made(key(NEW, OLD));
  expect(isTaken(key(NEW, OLD), before)).toBe(true);
  expect(isTaken(key(NEW, OLD), during)).toBe(true);
  expect(isTaken(key(OLD), during)).toBe(false);
  expect(isTaken(key(NEW), during)).toBe(true);
  expect(isTaken(key(NEW), before)).toBe(false);
  expect(isTaken(key(OTHER), before)).toBe(false);
  expect(isTaken(key(), before)).toBe(false);
});

test('a URL of a version before, which says no time, is taken for 30 days after its batch was made', () => {
  const mac = createHmac('sha256', OLD).update(`muster callback\nhere\n81\n${batch.createdUs}`).digest('base64url');
  const path = `/callbacks/81.${batch.createdUs}/${mac}`;
  expect(isTaken(key(NEW, OLD), path, NOW)).toBe(true);
  expect(isTaken(key(NEW, OLD), path, NOW + 29 * DAY_MS)).toBe(true);
  expect(isTaken(key(NEW, OLD), path, NOW + 30 * DAY_MS)).toBe(false);
  expect(isTaken(key(OTHER), path, NOW)).toBe(false);
});
