/** The resources that one run of an item used. */
export interface ItemUsage {
  /** From the start of the run to its end, in milliseconds. */
  wallMs: number;
  /**
   * Processor time in milliseconds; null: the executor cannot tell it apart from that of other
   * work.
   */
  cpuMs: number | null;
  /**
   * Memory at the end of the run; null: the executor cannot tell it apart from that of other work.
   */
  memoryBytes: number | null;
  /** How many bytes the run wrote, including those that were cut off. */
  stdoutBytes: number;
  stderrBytes: number;
}

/** What an executor or function reports about a run: texts by name. */
export type ItemMetadata = Readonly<Record<string, string>>;

export const METADATA_NAMES_MAX = 32;
/** Largest size of all metadata of a run, as JSON. */
export const METADATA_BYTES_MAX = 4_096;
