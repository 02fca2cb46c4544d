import { isEnvelope, RESERVED_FORM } from '../../handlers/codec/envelope';
import type { Sealer } from '../../handlers/codec/sealer';
import type { ResultPage } from '../../postgres/calls/records';
import type { ResultSink } from '../../handlers/results';
import type { ResultLimits, Storable } from '../../handlers/storable';
import { leftOut, RESULT_LIMITS, toStorable } from '../../handlers/storable';
import { sealResults } from '../codec/sealed';
import type { Entry } from '../codec/sealed';
import { PAGE_BYTES, PAGE_MEMBERS } from '../../postgres/calls/records';

/**
 * Writes a last page larger than this ahead of the settling statement, which many batches share.
 */
const SHARED_BYTES = 100_000;

/**
 * Collects a call's values into pages: at most 1,000 members or 1 MB. The last page stays here, to
 * be written by the settling statement; earlier ones are written while the answer is read, so a
 * 50,000-member batch settles in bounded memory.
 *
 * Every value that comes from outside passes through here and nowhere else, so here it is made
 * storable and its size is bounded. A value that had to be changed or left out keeps its task's
 * status; the page says so beside it, in a third element.
 */
export class ResultPages implements ResultSink {
  /** What is to be encoded before it is written; without a codec empty. */
  private entries: Entry[] = [];
  /** The other entries of the page, as they are written: an object each would cost more. */
  private texts: string[] = [];
  private kept = 0;
  private first = 0;
  private last = 0;
  private bytes = 0;
  private total = 0;
  private no = 0;

  /** `sealing`: what encodes values, and the id of the task at each index; null: nothing does. */
  constructor(
    private readonly batchId: number,
    private readonly attempt: number,
    private readonly write: (page: ResultPage) => Promise<void>,
    private readonly limits: ResultLimits = RESULT_LIMITS,
    private readonly sealing: { sealer: Sealer; idOf: (index: number) => string } | null = null,
  ) {}

  /** Returns a promise only where a page is written: each costs as much as its value. */
  add(index: number, result: unknown): Promise<void> | undefined {
    let value = toStorable(result, this.limits);
    if (value === null) return undefined;
    if (this.total + value.bytes > this.limits.batchBytes && value.json !== 'null')
      value = leftOut(`the results of its batch are more than ${this.limits.batchBytes} bytes of JSON in all`);
    if (isEnvelope(value.json) && this.sealing?.sealer.sealsTexts !== true) value = leftOut(RESERVED_FORM);
    const kept = value;
    if (this.kept > 0 && (this.kept >= PAGE_MEMBERS || this.bytes + kept.bytes > PAGE_BYTES))
      return this.writePage().then(() => this.keep(index, kept));
    this.keep(index, kept);
    return undefined;
  }

  private keep(index: number, { json, note, bytes }: Storable): void {
    this.first = this.kept === 0 ? index : Math.min(this.first, index);
    this.last = this.kept === 0 ? index : Math.max(this.last, index);
    if (this.sealing === null) this.texts.push(textOf(index, json, note));
    else this.entries.push({ index, json, note });
    this.kept++;
    this.bytes += bytes;
    this.total += bytes;
  }

  /**
   * Returns what is left for the settling statement, none or one small page; the same each time, as
   * the statement may have to be repeated.
   */
  async rest(): Promise<ResultPage[]> {
    if (this.bytes > SHARED_BYTES) await this.writePage();
    return this.kept === 0 ? [] : [await this.page()];
  }

  /** Keeps the page until it is written. */
  private async writePage(): Promise<void> {
    await this.write(await this.page());
    this.no++;
    this.entries = [];
    this.texts = [];
    this.kept = 0;
    this.bytes = 0;
  }

  private async page(): Promise<ResultPage> {
    const { sealing } = this;
    const sealed = sealing === null ? [] : await sealResults(sealing.sealer, this.entries, sealing.idOf);
    const texts = sealing === null ? this.texts : sealed.map(({ index, json, note }) => textOf(index, json, note));
    return {
      batch_id: this.batchId,
      attempt: this.attempt,
      no: this.no,
      first: this.first,
      last: this.last,
      results: `[${texts.join()}]`,
    };
  }
}

const textOf = (index: number, json: string, note: string | null): string =>
  note === null ? `[${index},${json}]` : `[${index},${json},${JSON.stringify(note)}]`;
