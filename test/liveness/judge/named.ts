import type { Explanation } from '../../../workflows/planning/explain';
import type { Mover } from '../movers';

/**
 * Which of the places at which an operator looks says of a mover that it does not move. Pure:
 * decided from their answers.
 */

export const SOURCES = ['verify', 'status', 'explain', 'healthz'] as const;
export type Source = (typeof SOURCES)[number];

/** Of `/healthz` of one worker; `parts` null: no answer, which a supervisor takes for unhealthy. */
export interface WorkerHealth {
  worker: number;
  parts: readonly { part: string; healthy: boolean; error: string | null }[] | null;
}

/**
 * What they said at one time; null: no answer within the deadline. Kinds and checks that are
 * unknown here count by their names.
 */
export interface Answers {
  verify: { checks: readonly { name: string; violations: readonly object[] }[] } | null;
  status:
    | readonly {
        handler: string;
        served: boolean;
        stalled: readonly { kind: string }[];
        partitions: { n: number; held: number } | null;
      }[]
    | null;
  /** Of the oldest open task of a mover; none: it has none. */
  explained: ReadonlyMap<string, Pick<Explanation, 'text' | 'waitsFor'> | null>;
  healthz: readonly WorkerHealth[];
}

/** By each source, its words that name the mover. */
export type Naming = Partial<Record<Source, string>>;

export const namingOf = (mover: Mover, answers: Answers): Naming => {
  const words: Record<Source, string | null> = {
    verify: byVerify(mover, answers),
    status: byStatus(mover, answers),
    explain: byExplain(mover, answers),
    healthz: byHealth(mover, answers),
  };
  return Object.fromEntries(Object.entries(words).filter(([, said]) => said !== null));
};

/**
 * Returns who answered and called the mover healthy. A `/healthz` that is unhealthy for another
 * reason does not, nor does a supervisor take one without an answer for healthy.
 */
export const healthyBy = (mover: Mover, answers: Answers, naming = namingOf(mover, answers)): Source[] => {
  const { verify, status, explained, healthz } = answers;
  const calm: Record<Source, boolean> = {
    verify: verify !== null,
    status: status !== null,
    explain: (explained.get(mover.name) ?? null) !== null,
    healthz: healthz.every(({ parts }) => parts?.every(({ healthy }) => healthy) === true),
  };
  return SOURCES.filter((source) => calm[source] && naming[source] === undefined);
};

/** Checks that speak of a mover: by their names, and where their rows name a handler, by that. */
const checkPattern = ({ kind, lane, placed }: Mover): RegExp => {
  if (kind === 'ask') return /asked about|monitor/;
  if (kind === 'callback') return /notif|recipient|told/;
  if (lane) return /lane|queuer|granted/;
  return placed ? /leader|target|call|carried|partition|balancer/ : /leader|target|call|carried/;
};

const byVerify = (mover: Mover, { verify }: Answers): string | null => {
  const pattern = checkPattern(mover);
  const found = verify?.checks.find(
    ({ name, violations }) => pattern.test(name) && violations.some((row) => isOf(mover, row)),
  );
  return found === undefined ? null : `${found.name}: ${JSON.stringify(found.violations[0])}`;
};
const isOf = ({ handler }: Mover, row: { handler?: unknown }): boolean =>
  row.handler === undefined || row.handler === null || row.handler === handler;

const STALLED_KIND = { ask: 'monitor', callback: 'notifier' } as const;

const byStatus = (mover: Mover, { status }: Answers): string | null => {
  const one = status?.find(({ handler }) => handler === mover.handler);
  if (one === undefined) return null;
  if (!one.served && mover.kind === 'call') return 'no live worker has the handler';
  const { n = 0, held = 0 } = mover.placed && one.partitions !== null ? one.partitions : {};
  if (held < n) return `${held} of ${n} partitions are held`;
  const kinds =
    mover.kind !== 'call'
      ? [STALLED_KIND[mover.kind]]
      : [mover.lane ? 'queuer' : 'leader', 'dispatch', ...(mover.placed ? ['balancer'] : [])];
  const found = one.stalled.find(({ kind }) => kinds.includes(kind));
  return found === undefined ? null : JSON.stringify(found);
};

/** A leader that was silent for less than 10 s is no alarm: it may be between two of its wakes. */
const STANDS =
  /stands? still|has stalled|is overdue|no live worker|has been silent for (\d\d+ s|\d+ min)|by a process that did not conclude|No node holds|is gone|is not polled/;

const byExplain = (mover: Mover, { explained }: Answers): string | null => {
  const text = explained.get(mover.name)?.text ?? '';
  return STANDS.test(text) ? text : null;
};

const byHealth = (mover: Mover, { healthz }: Answers): string | null => {
  for (const { worker, parts } of healthz) {
    if (parts === null) return `worker ${worker} gives no answer`;
    const sick = parts.find((part) => !part.healthy && (part.part !== 'turns' || isTurnOf(mover, part.error ?? '')));
    if (sick !== undefined) return `worker ${worker}, ${sick.part}: ${sick.error}`;
  }
  return null;
};

/** The part for turns names one leader or queuer; the others are about the whole process. */
const isTurnOf = ({ handler, kind, lane, placed }: Mover, error: string): boolean => {
  // Unhealthy, since it cannot know what stands.
  if (/^Postgres gave no answer/.test(error)) return true;
  if (kind === 'ask') return /monitor/.test(error) && error.includes(`"${handler}"`);
  if (kind === 'callback') return /notifier/.test(error);
  if (lane) return /queuer/.test(error) && (!/dispatch/.test(error) || error.includes(`of handler "${handler}"`));
  return (placed && /balancer/.test(error)) || (/leader/.test(error) && error.includes(`of handler "${handler}"`));
};

/**
 * What must not be said of something that has stood for a minute: that it goes on by itself, soon.
 */
const SOON =
  /which may take another|will be sent|is sent again in|the next poll is in|looks again within|is at work now|is granted next|within seconds/;

export const promiseOf = (mover: Mover, { explained }: Answers): string | null => {
  const text = explained.get(mover.name)?.text ?? '';
  // What is named as stalled may say besides when somebody looks again.
  return SOON.test(text) && !STANDS.test(text) ? text : null;
};
