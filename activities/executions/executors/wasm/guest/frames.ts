/**
 * Messages between a node and the process of a module: JSON, then two runs of bytes. The node
 * believes nothing that comes back: it says how long each part may be, before it reads it.
 */

export interface Frame {
  head: unknown;
  first: Buffer;
  second: Buffer;
}
export interface FrameLimits {
  head: number;
  first: number;
  second: number;
}

/** The three lengths. */
export const HEADER_BYTES = 12;
const NONE = new Uint8Array(0);

export const encodeFrame = (head: object, first: Uint8Array = NONE, second: Uint8Array = NONE): Buffer => {
  const json = Buffer.from(JSON.stringify(head));
  const header = Buffer.alloc(HEADER_BYTES);
  for (const [i, part] of [json, first, second].entries()) header.writeUInt32LE(part.length, 4 * i);
  return Buffer.concat([header, json, first, second]);
};

/** Returns the lengths of the parts, from the header. */
export const lengthsOf = (header: Buffer): FrameLimits => ({
  head: header.readUInt32LE(0),
  first: header.readUInt32LE(4),
  second: header.readUInt32LE(8),
});

/** Returns the frame of a body that has all three parts. */
export const decodeBody = (body: Buffer, { head, first }: FrameLimits): Frame => ({
  head: JSON.parse(body.toString('utf8', 0, head)),
  first: body.subarray(head, head + first),
  second: body.subarray(head + first),
});

/** Puts frames together from what arrives. Throws where a part is longer than it may be. */
export class FrameReader {
  private parts: Buffer[] = [];
  private length = 0;
  private lengths: FrameLimits | null = null;

  /** Returns the frame that this completes; null: there is more to come. */
  add(part: Buffer, limits: FrameLimits): Frame | null {
    this.parts.push(part);
    this.length += part.length;
    if (this.lengths === null && this.length >= HEADER_BYTES) {
      this.lengths = lengthsOf(this.joined());
      const { head, first, second } = this.lengths;
      if (head > limits.head || first > limits.first || second > limits.second)
        throw new Error('the process of the module answered more than it may');
    }
    if (this.lengths === null) return null;
    const size = HEADER_BYTES + this.lengths.head + this.lengths.first + this.lengths.second;
    if (this.length > size) throw new Error('the process of the module answered twice');
    if (this.length < size) return null;
    const frame = decodeBody(this.joined().subarray(HEADER_BYTES), this.lengths);
    this.parts = [];
    this.length = 0;
    this.lengths = null;
    return frame;
  }

  private joined(): Buffer {
    if (this.parts.length > 1) this.parts = [Buffer.concat(this.parts, this.length)];
    return this.parts[0]!;
  }
}
