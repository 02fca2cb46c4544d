/** What one run of an item used. */
export interface ItemUsage {
  /** From the start of the run to its end, in milliseconds. */
  wallMs: number;
  /** Processor time; null: the executor cannot tell it apart from that of other work. */
  cpuMs: number | null;
  /** Memory at the end of the run; null: the same. */
  memoryBytes: number | null;
  /** Bytes that it wrote, also those that were cut off. */
  stdoutBytes: number;
  stderrBytes: number;
}

/** What an executor or a function says about a run: texts by name. */
export type ItemMetadata = Readonly<Record<string, string>>;

export const METADATA_NAMES_MAX = 32;
/** Of the whole, as JSON. */
export const METADATA_BYTES_MAX = 4_096;
