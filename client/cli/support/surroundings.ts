/** What a command runs in. For `muster`: the streams, folder and environment of its process. */
export interface Surroundings {
  stdin: AsyncIterable<Buffer>;
  stdout: NodeJS.WritableStream;
  /** Progress is drawn if this is a terminal. */
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  /**
   * The folder to which names of files are relative, and in which a config file and a running
   * `muster dev` are found.
   */
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}
