import type { ResultPage } from '../postgres/settle';
import type { ResultSink } from './handlers/results';

const PAGE_MEMBERS = 1_000;
const PAGE_BYTES = 1_000_000;
/** What a page costs beyond its JSON is small; a value is measured once, when it comes. */

/**
 * Collects a call's values into pages (H8): at most 1,000 members or 1 MB. The last page stays here, to be written by the settling
 * statement; earlier ones are written while the answer is read, so a 50,000-member batch settles in bounded memory.
 */
export class ResultPages implements ResultSink {
  private entries: [number, unknown][] = [];
  private bytes = 0;
  private no = 0;

  constructor(
    private readonly batchId: number,
    private readonly attempt: number,
    private readonly write: (page: ResultPage) => Promise<void>,
  ) {}

  async add(index: number, result: unknown): Promise<void> {
    if (result === undefined) return;
    const size = JSON.stringify(result)?.length ?? 0;
    if (this.entries.length > 0 && (this.entries.length >= PAGE_MEMBERS || this.bytes + size > PAGE_BYTES)) {
      await this.write(this.takePage());
    }
    this.entries.push([index, result]);
    this.bytes += size;
  }

  /** Value of a member, if it is still here: for notices. */
  valueOf(index: number): unknown {
    return this.entries.find(([place]) => place === index)?.[1];
  }

  /** What is left: none or one page. */
  rest(): ResultPage[] {
    return this.entries.length === 0 ? [] : [this.takePage()];
  }

  private takePage(): ResultPage {
    const places = this.entries.map(([place]) => place);
    const page: ResultPage = {
      batch_id: this.batchId,
      attempt: this.attempt,
      no: this.no++,
      first: places.reduce((a, b) => Math.min(a, b)),
      last: places.reduce((a, b) => Math.max(a, b)),
      results: this.entries,
    };
    this.entries = [];
    this.bytes = 0;
    return page;
  }
}
