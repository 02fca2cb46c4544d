/** What a command runs in; for `muster` the streams, folder and environment of its process. */
export interface Surroundings {
  stdin: AsyncIterable<Buffer>;
  stdout: NodeJS.WritableStream;
  /** Progress is drawn where it is a terminal. */
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  /** Folder that names of files start from, and where config files and a `muster dev` are found. */
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}
