/** What a command runs in; for `muster` the streams, folder and environment of its process. */
export interface Surroundings {
  stdin: AsyncIterable<Buffer>;
  stdout: NodeJS.WritableStream;
  /** Progress is drawn where it is a terminal. */
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  /** Folder from which names of files are, where the config file and a `muster dev` are looked for. */
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}
