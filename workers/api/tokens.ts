import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiTokenRow, Scope } from '../../postgres/api/token';
import { readTokens } from '../../postgres/api/token';
import type { Pool } from '../../postgres/pool';

/** 256 random bits; the word before them is for people and for scanners of leaked secrets. */
export const newToken = (): string => `muster_${randomBytes(32).toString('base64url')}`;

/** All that is stored of a token. A fast hash will do: nobody guesses 256 bits. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

export interface Caller {
  /** 0: no token was asked for. */
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
  private readAt = -Infinity;
  private reading: Promise<void> | null = null;

  constructor(
    private readonly pool: Pool,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Whether there is any. @throws what the database throws: who cannot look lets nobody in */
  async isEmpty(): Promise<boolean> {
    await this.refresh();
    return this.known.length === 0;
  }

  /** Whose token it is; null: nobody's. */
  async find(token: string): Promise<Caller | null> {
    await this.refresh();
    return findCaller(this.known, token);
  }

  private async refresh(): Promise<void> {
    // While there is none, everybody on this machine may call: the first one counts at once.
    if (this.known.length > 0 && this.now() - this.readAt < FRESH_MS) return;
    this.reading ??= this.read().finally(() => (this.reading = null));
    await this.reading;
  }

  private async read(): Promise<void> {
    const rows = await readTokens(this.pool);
    this.known = rows.filter(({ revokedAt }) => revokedAt === null).map(knownOf);
    this.readAt = this.now();
  }
}

const knownOf = ({ id, hash, scopes }: ApiTokenRow): Known => ({ id, hash, scopes: new Set(scopes) });

/**
 * Compared with each, in constant time and to the end: how long it takes says neither how much of a
 * token was right nor whose it is.
 */
export const findCaller = (known: readonly Known[], token: string): Caller | null => {
  const hash = hashToken(token);
  let found: Known | null = null;
  for (const one of known) if (timingSafeEqual(one.hash, hash)) found = one;
  return found;
};

/** `admin` may all. */
export const may = ({ scopes }: Caller, scope: Scope): boolean => scopes.has('admin') || scopes.has(scope);
