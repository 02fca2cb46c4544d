import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiTokenRow, Scope } from '../../postgres/api/token';
import { readTokens, touchTokens } from '../../postgres/api/token';
import type { Pool } from '../../postgres/pool';
import type { Limits } from './tenants/bounds';

/**
 * Makes a token: 256 random bits; the word before them is for people and for scanners of leaked
 * secrets.
 */
export const newToken = (): string => `muster_${randomBytes(32).toString('base64url')}`;

/** Returns all that is stored of a token. A fast hash suffices: 256 bits cannot be guessed. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

export interface Caller {
  /** 0: no token was required. Tokens that replace each other have the id of the first. */
  id: number;
  /** Of the token itself; 0: none was required. */
  tokenId: number;
  /** The token's name; null: none was required. */
  name: string | null;
  scopes: ReadonlySet<Scope>;
  limits: Limits;
}

/** A revoked token is refused after this at the latest. */
const FRESH_MS = 2_000;
/**
 * Unknown tokens wait for a read that began after they came: each may be a new one. The pause
 * before that read is so many times what the last one took, within these bounds: guessing takes a
 * small share of the database's time, and a new token counts at once.
 */
const PAUSE_PER_READ = 25;
const PAUSE_MS = { least: 25, most: 250 };

interface Known extends Caller {
  hash: Buffer;
}

/** The tokens that are valid, read again every two seconds while requests come. */
export class TokenBook {
  private known: readonly Known[] = [];
  /** A token was made at some time, even if none is valid today. */
  private wasMade = false;
  private readAt = -Infinity;
  private reading: Promise<void> | null = null;
  /** When the next read for unknown tokens may begin. */
  private nextReadAt = -Infinity;
  private pausing: Promise<void> | null = null;
  /** Tokens that were used, and for which that is not stored yet. */
  private readonly used = new Set<number>();
  private isNoting = false;

  constructor(
    private readonly pool: Pool,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Says whether no token was ever made: the last one that is revoked opens nothing. @throws the
   * database's error: without an answer no caller is admitted
   */
  async isEmpty(): Promise<boolean> {
    await this.refresh();
    return !this.wasMade;
  }

  /** Says whether the token with this id is valid. */
  async has(id: number): Promise<boolean> {
    await this.refresh();
    return this.known.some(({ tokenId }) => tokenId === id);
  }

  /** Returns the caller with this token; null: there is none. */
  async find(token: string): Promise<Caller | null> {
    const askedAt = this.now();
    await this.refresh();
    let found = findCaller(this.known, token);
    // A read that had begun before may not know a token that was made since.
    while (found === null && this.readAt < askedAt) {
      await this.pause();
      await this.readOnce();
      found = findCaller(this.known, token);
    }
    if (found !== null) this.used.add(found.tokenId);
    return found;
  }

  private async refresh(): Promise<void> {
    // While there is no token, any caller on this machine may be admitted: the first token counts
    // at once.
    const at = this.now();
    if (this.known.length > 0 && at - this.readAt < FRESH_MS) return;
    await this.readOnce();
    // A read that had begun before may be too old by now, where it took long.
    if (at - this.readAt >= FRESH_MS) await this.readOnce();
  }

  /** Waits until unknown tokens may be looked for again; one wait for all of them. */
  private pause(): Promise<void> {
    const ms = this.nextReadAt - this.now();
    if (ms <= 0) return Promise.resolve();
    this.pausing ??= sleep(ms).finally(() => (this.pausing = null));
    return this.pausing;
  }

  private readOnce(): Promise<void> {
    this.reading ??= this.read().finally(() => (this.reading = null));
    return this.reading;
  }

  /** Never waited for: a store that takes no writes now is no reason to keep a caller waiting. */
  private noteUse(): void {
    if (this.used.size === 0 || this.isNoting) return;
    const ids = [...this.used];
    this.used.clear();
    this.isNoting = true;
    void touchTokens(this.pool, ids)
      .catch(() => undefined)
      .finally(() => (this.isNoting = false));
  }

  private async read(): Promise<void> {
    this.noteUse();
    // Before the statement: what is revoked while its answer is on its way is not in it.
    const asOf = this.now();
    const rows = await readTokens(this.pool);
    const endedAt = this.now();
    const pauseMs = PAUSE_PER_READ * (endedAt - asOf);
    this.nextReadAt = endedAt + Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, pauseMs));
    this.wasMade = rows.length > 0;
    this.known = rows.filter(({ isValid }) => isValid).map(knownOf);
    this.readAt = asOf;
  }
}

const knownOf = ({ id, replaces, name, hash, scopes, tenant, handlers }: ApiTokenRow): Known => ({
  id: replaces ?? id,
  tokenId: id,
  name,
  hash,
  scopes: new Set(scopes),
  limits: { tenant, handlers },
});

/**
 * Finds the caller by comparing with each token, in constant time and to the end: the time says
 * neither how much of a token was right nor whose it is.
 */
export const findCaller = <K extends { readonly hash: Buffer }>(known: readonly K[], token: string): K | null => {
  const hash = hashToken(token);
  let found: K | null = null;
  for (const one of known) if (timingSafeEqual(one.hash, hash)) found = one;
  return found;
};

/** Says whether the caller has the scope; `admin` grants every scope. */
export const may = ({ scopes }: Caller, scope: Scope): boolean => scopes.has('admin') || scopes.has(scope);
