import { readAudit } from '../../postgres/operations/audit';
import type { AuditView } from '../../workflows/contracts/audit';
import { PAGE_MAX } from '../../workflows/planning/pages';
import { checkName, checkWhole } from '../arguments';
import type { Connection } from '../connection';

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
    const who = options.who === undefined ? null : checkName('who', options.who);
    const subject = options.subject === undefined ? null : checkName('subject', options.subject);
    const rows = await readAudit(this.connection.pool, { before, limit, who, subject });
    return rows.map(({ at, detail, ...row }) => ({ ...row, at: at.toISOString(), detail: detail ?? {} }));
  }
}
