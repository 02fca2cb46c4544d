/** What a bulk action waits for that no worker makes. */

/** After which a step that is due is not merely waiting for its turn. */
export const OVERDUE_SECONDS = 10;
/** After which the live workers that have the handler must be of other versions. */
const REFUSED_SECONDS = 60;

/** How a bulk action stands, and which workers are alive. */
export interface Standing {
  /** Seconds for which its next step has been due; null: it is not, or has ended. */
  dueForSeconds: number | null;
  handler: string;
  /** It changes payloads, which needs the handler's code. */
  needsHandler: boolean;
  /** The version of payloads that a worker must know; null: any. */
  payloadVersion: number | null;
  /** Workers from before migration 000027 do not make it. */
  isHidden: boolean;
  /** A worker is alive. */
  hasWorkers: boolean;
  /** A worker is alive that has the handler. */
  isServed: boolean;
}

/** Returns what it waits for; null: for nothing but its turn. */
export const waitsFor = (standing: Standing): string | null => {
  const { dueForSeconds, handler, needsHandler, payloadVersion, isHidden, hasWorkers, isServed } = standing;
  if (dueForSeconds === null || dueForSeconds < OVERDUE_SECONDS) return null;
  if (!hasWorkers) return 'a worker: none runs';
  const version = payloadVersion === null ? '' : ` in payloadVersion ${payloadVersion} or later`;
  const having = needsHandler ? ` that has handler "${handler}"${version}` : '';
  if (needsHandler && !isServed) return `a worker${having}`;
  return isHidden && dueForSeconds >= REFUSED_SECONDS
    ? `its turn, or a worker of this version of Muster or later${having}`
    : null;
};
