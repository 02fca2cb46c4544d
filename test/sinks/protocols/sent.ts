import type { Handler } from '../../../handlers';
import { buildBatch, outcomeOf } from '../../examples/helpers';

/** What the tests of a protocol need, whichever server speaks it. */

/** A server of AWS' protocols on this machine, and what a client is told of it. */
export interface At {
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  endpoint: string;
}

export const LOCAL = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
export const OK = { kind: 'results', deviants: [] };
export const ten = <T>(make: (n: number) => T): T[] => Array.from({ length: 10 }, (_, n) => make(n));
export const sent = <P>(handler: Handler<P>, payloads: readonly P[], prefix = 'task') =>
  outcomeOf(
    handler,
    buildBatch(handler, payloads, (n) => `${prefix} ${n}: äöü`),
  );
