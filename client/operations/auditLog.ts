import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname, userInfo } from 'node:os';
import type { Door } from '../../workflows/contracts/audit';
import { cutText } from '../../handlers/text';
import type { Storable } from '../../handlers/storable';
import { RESULT_LIMITS, toStorable } from '../../handlers/storable';
import { concludeAudit, insertAudit } from '../../postgres/operations/audit';
import { codeOf } from '../../postgres/sqlState';
import type { Pool } from '../../postgres/pool';

/**
 * Header by which a caller of the HTTP API names its door. Only `mcp` counts: it says of a token's
 * change that an agent made it, and gives no right.
 */
export const DOOR_HEADER = 'muster-door';

/** Who changes something, and through which door. */
export interface Actor {
  /** 1 to 300 characters. */
  who: string;
  door: Door;
  /** Address of the caller. */
  origin?: string;
}

/** What is changed. */
export interface Act {
  verb: string;
  /** `handler orders`, `lane po-17`. */
  subject: string;
  /** What was asked for, besides the subject. */
  detail?: object;
}

const MOST_WHO = 300;
const MOST_SUBJECT = 600;
/** Bytes of what was asked for, or answered; of more, long texts are left out. */
const MOST_JSON = 4_000;
/** Characters of a text in what is longer than that. */
const MOST_TEXT = 1_000;
/** In place of it where there are many. */
const SHORTER_TEXT = 100;

/** A change that is being made; its entry, once it has begun. */
interface Change {
  act: Act;
  entry: Promise<number> | null;
}

/** Writes down each change before it is made, and its outcome afterwards. */
export class AuditLog {
  private readonly acting = new AsyncLocalStorage<Actor>();
  private readonly changing = new AsyncLocalStorage<Change>();

  constructor(
    private readonly pool: Pool,
    private readonly actor: Actor,
  ) {}

  /** Runs work whose changes are made by this actor, not by the client's user. */
  as<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    return this.acting.run(actor, work);
  }

  /** Returns who makes the changes just now, cut to what fits. */
  actorNow(): Required<Omit<Actor, 'origin'>> & { origin: string | null } {
    const { who, door, origin } = this.acting.getStore() ?? this.actor;
    return { who: cutText(who, MOST_WHO), door, origin: origin ?? null };
  }

  /**
   * Makes a change. Its entry is written when the change begins (`begin`), which it does once its
   * arguments are checked. An outcome that cannot be written stays open.
   */
  change<T>(act: Act, work: () => Promise<T>): Promise<T> {
    const change: Change = { act, entry: null };
    return this.changing.run(change, async () => {
      try {
        const answer = await work();
        await this.conclude(change, 'done', jsonOf(answer));
        return answer;
      } catch (error) {
        await this.conclude(change, codeOf(error) ?? 'ERROR', null);
        throw error;
      }
    });
  }

  /** Writes the entry of the change that is being made, if one is: without it there is none. */
  async begin(): Promise<void> {
    const change = this.changing.getStore();
    if (change !== undefined) await (change.entry ??= this.insert(change.act));
  }

  /** Names who makes the present change. */
  who(): string {
    return cutText((this.acting.getStore() ?? this.actor).who, MOST_WHO);
  }

  private insert({ verb, subject, detail = {} }: Act): Promise<number> {
    return insertAudit(this.pool, {
      ...this.actorNow(),
      verb,
      subject: cutText(subject, MOST_SUBJECT),
      detail: jsonOf(detail),
    });
  }

  private async conclude({ entry }: Change, outcome: string, answer: string | null): Promise<void> {
    const id = await entry?.catch(() => null);
    if (id != null) await concludeAudit(this.pool, id, { outcome, answer }).catch(() => undefined);
  }
}

const jsonOf = (value: unknown): string => {
  for (const most of [Infinity, MOST_TEXT, SHORTER_TEXT]) {
    const { json, note } = storable(most === Infinity ? value : withoutLong(value, most));
    if (note === null || json !== 'null') return json;
  }
  return 'null';
};

const storable = (value: unknown): Pick<Storable, 'json' | 'note'> =>
  toStorable(value, { ...RESULT_LIMITS, resultBytes: MOST_JSON }) ?? { json: 'null', note: null };

/** Leaves long texts out, so that the rest is kept. */
const withoutLong = (value: unknown, most: number): unknown => {
  try {
    return JSON.parse(
      JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? shortText(part, most) : part)),
    );
  } catch {
    return undefined; // it is no JSON
  }
};

/** Returns a text, or what stands in the audit for one that is long. */
export const shortText = (text: string, most = MOST_TEXT): string =>
  text.length <= most ? text : `(${text.length} characters, which the audit leaves out)`;

/** Returns the user of the operating system, and the machine. */
export const osUser = (): string => {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`; // it has no name
  }
};

/** Names the first of some ids, and counts the others. */
export const someOf = (noun: string, ids: unknown): string => {
  const list = Array.isArray(ids) ? ids : [ids];
  return `${noun} ${String(list[0])}${list.length > 1 ? ` and ${list.length - 1} more` : ''}`;
};

/** Names a handler, or one of its targets. */
export const scopeText = (handler: unknown, target: unknown): string =>
  target === undefined ? `handler ${String(handler)}` : `target ${String(handler)}/${String(target)}`;
