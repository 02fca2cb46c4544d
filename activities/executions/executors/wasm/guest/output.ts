/** What a run writes to one of its outputs: all of it is counted, the first bytes are kept. */
export class Output {
  total = 0;
  private kept = 0;
  private buffer = new Uint8Array(0);

  /** Keeps one byte more than the limit, so that the node knows that some were cut off. */
  constructor(private readonly limit: number) {}

  write(bytes: Uint8Array): void {
    this.total += bytes.length;
    const part = bytes.subarray(0, Math.max(0, this.limit + 1 - this.kept));
    if (part.length === 0) return;
    this.reserve(this.kept + part.length);
    this.buffer.set(part, this.kept);
    this.kept += part.length;
  }

  bytes(): Uint8Array {
    return this.buffer.subarray(0, this.kept);
  }

  /** Doubles, so that a million small writes are not a million buffers. */
  private reserve(length: number): void {
    if (length <= this.buffer.length) return;
    const wider = new Uint8Array(Math.max(length, Math.min(this.limit + 1, 2 * this.buffer.length)));
    wider.set(this.bytes());
    this.buffer = wider;
  }
}
