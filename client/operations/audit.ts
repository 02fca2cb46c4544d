import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname, userInfo } from 'node:os';
import { cutText } from '../../handlers/text';
import { RESULT_LIMITS, toStorable } from '../../handlers/storable';
import * as store from '../../postgres/operations/audit';
import { codeOf } from '../../postgres/sqlState';
import type { Pool } from '../../postgres/pool';
import type { AuditView } from '../../workflows/contracts/audit';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { checkWhole } from '../arguments';
import type { Connection } from '../connection';

/** Who changes something, and through which door. */
export interface Actor {
  /** 1 to 300 characters. */
  who: string;
  door: 'client' | 'cli' | 'api';
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
/** Bytes of what was asked for, and of what was answered; longer ones are left out. */
const MOST_JSON = 4_000;

/** Writes down each change before it is made, and its outcome afterwards. */
export class AuditLog {
  private readonly acting = new AsyncLocalStorage<Actor>();

  constructor(
    private readonly pool: Pool,
    private readonly actor: Actor,
  ) {}

  /** Runs work whose changes are made by this actor, not by the client's user. */
  as<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    return this.acting.run(actor, work);
  }

  /** Makes a change. Without its entry there is none; an outcome that cannot be written stays open. */
  async change<T>({ verb, subject, detail = {} }: Act, work: () => Promise<T>): Promise<T> {
    const { who, door, origin } = this.acting.getStore() ?? this.actor;
    const id = await store.insertAudit(this.pool, {
      who: cutText(who, MOST_WHO),
      door,
      origin: origin ?? null,
      verb,
      subject: cutText(subject, MOST_SUBJECT),
      detail: jsonOf(detail),
    });
    try {
      const answer = await work();
      await this.conclude(id, 'done', jsonOf(answer));
      return answer;
    } catch (error) {
      await this.conclude(id, codeOf(error) ?? 'ERROR', null);
      throw error;
    }
  }

  private async conclude(id: number, outcome: string, answer: string | null): Promise<void> {
    await store.concludeAudit(this.pool, id, { outcome, answer }).catch(() => undefined);
  }
}

const jsonOf = (value: unknown): string =>
  toStorable(value, { ...RESULT_LIMITS, resultBytes: MOST_JSON })?.json ?? 'null';

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

/** Which page of the audit to list, newest first. */
export interface AuditOptions {
  /** Most entries: 1 to 1,000; default 100. */
  limit?: number;
  /** Only entries before the one with this number; default: the page is the first. */
  before?: number;
  /** Only changes by this caller, such as `token 3 (ci)`. */
  who?: string;
  /** Only changes of this, such as `handler orders`. */
  subject?: string;
}

/** The verbs for the audit: `muster.audit`. */
export class Audit {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /** Returns who changed what, newest first. An entry is kept for at least a year. */
  async list(options: AuditOptions = {}): Promise<AuditView[]> {
    const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
    const before =
      options.before === undefined ? null : checkWhole('before', options.before, 1, Number.MAX_SAFE_INTEGER);
    await this.connection.ready();
    const { who = null, subject = null } = options;
    const rows = await store.readAudit(this.connection.pool, { before, limit, who, subject });
    return rows.map(({ at, detail, ...row }) => ({ ...row, at: at.toISOString(), detail: detail ?? {} }));
  }
}
