import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiTokenRow, Scope } from '../../postgres/api/token';
import { readTokens } from '../../postgres/api/token';
import type { Pool } from '../../postgres/pool';

/**
 * Makes a token: 256 random bits; the word before them is for people and for scanners of leaked
 * secrets.
 */
export const newToken = (): string => `muster_${randomBytes(32).toString('base64url')}`;

/** Returns all that is stored of a token. A fast hash suffices: 256 bits cannot be guessed. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

export interface Caller {
  /** 0: no token was required. */
  id: number;
  scopes: ReadonlySet<Scope>;
}

/** A revoked token is refused after this at the latest. */
const FRESH_MS = 2_000;

interface Known {
  id: number;
  hash: Buffer;
  scopes: ReadonlySet<Scope>;
}

/** The tokens that are valid, read again every two seconds while requests come. */
export class TokenBook {
  private known: readonly Known[] = [];
  /** A token was made at some time, even if none is valid today. */
  private wasMade = false;
  private readAt = -Infinity;
  private reading: Promise<void> | null = null;

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
    return this.known.some((one) => one.id === id);
  }

  /** Returns the caller with this token; null: there is none. */
  async find(token: string): Promise<Caller | null> {
    await this.refresh();
    return findCaller(this.known, token);
  }

  private async refresh(): Promise<void> {
    // While there is no token, any caller on this machine may be admitted: the first token counts
    // at once.
    if (this.known.length > 0 && this.now() - this.readAt < FRESH_MS) return;
    this.reading ??= this.read().finally(() => (this.reading = null));
    await this.reading;
  }

  private async read(): Promise<void> {
    const rows = await readTokens(this.pool);
    this.wasMade = rows.length > 0;
    this.known = rows.filter(({ revokedAt }) => revokedAt === null).map(knownOf);
    this.readAt = this.now();
  }
}

const knownOf = ({ id, hash, scopes }: ApiTokenRow): Known => ({ id, hash, scopes: new Set(scopes) });

/**
 * Finds the caller by comparing with each token, in constant time and to the end: the time says
 * neither how much of a token was right nor whose it is.
 */
export const findCaller = (known: readonly Known[], token: string): Caller | null => {
  const hash = hashToken(token);
  let found: Known | null = null;
  for (const one of known) if (timingSafeEqual(one.hash, hash)) found = one;
  return found;
};

/** Says whether the caller has the scope; `admin` grants every scope. */
export const may = ({ scopes }: Caller, scope: Scope): boolean => scopes.has('admin') || scopes.has(scope);
