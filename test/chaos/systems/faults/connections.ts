import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault';

/** The network between everybody and Postgres fails in the ways that networks do. */

/** Connections are reset, again and again. */
export const reset: Fault = async ({ world: { proxy }, forMs, times }) => {
  let struck = 0;
  for (let i = 0; i < times; i++) {
    struck += proxy.open();
    proxy.reset();
    await sleep(forMs);
  }
  return struck;
};

export const refused: Fault = async ({ world: { proxy }, forMs }) => {
  const struck = proxy.open();
  proxy.refuse();
  proxy.reset();
  await sleep(forMs);
  proxy.resume();
  return struck;
};

/** Everything waits, and comes later. */
export const stalled: Fault = async ({ world: { proxy }, forMs }) => {
  proxy.stall();
  await sleep(forMs);
  proxy.resume();
  return proxy.open();
};

/** Each way takes `times` ms. */
export const delayed: Fault = async ({ world: { proxy }, forMs, times }) => {
  proxy.delay(times);
  await sleep(forMs);
  proxy.delay(0);
  return proxy.open();
};

/** The connections that are there are dead for good, and no side is told. */
export const halfOpen: Fault = async ({ world: { proxy }, forMs }) => {
  const struck = proxy.open();
  proxy.cut();
  await sleep(forMs);
  return struck;
};

/** What is asked is done, and its answers do not come back. */
export const answersLost: Fault = async ({ world: { proxy }, forMs }) => {
  const struck = proxy.open();
  proxy.cut('answers');
  await sleep(forMs);
  return struck;
};

/** A commit is done, and whoever asked for it does not learn of it. */
export const cutAtCommit: Fault = async ({ world: { proxy }, forMs, times }) => {
  for (let i = 0; i < times; i++) {
    proxy.cutAt('commit', 'answers');
    await sleep(forMs);
  }
  return times;
};
