import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import type { Flags, Needs, Settings } from '../../../workers/config/config';
import type { Client } from '../../client';
import { commandLineOf } from './commandLine';
import { EXIT } from './exitCodes';
import { Output } from './output';
import type { Surroundings } from './surroundings';

/** The flags that every command has. */
export interface GlobalOptions extends Flags {
  json?: boolean;
  debug?: boolean;
}

/**
 * What a command works with: its options, output, settings and client. Heavy modules are loaded on
 * first use, so that `--help` answers at once.
 */
export class Session<Options = object> {
  readonly out: Output;
  private opened: Client | null = null;

  constructor(
    readonly options: Options & GlobalOptions,
    readonly surroundings: Surroundings,
  ) {
    this.out = new Output(options.json === true, surroundings);
  }

  /** Returns the absolute path of a file that the user named. */
  path(file: string): string {
    return path.resolve(this.surroundings.cwd, file);
  }

  /** Returns an input that can be read once: standard input for `-`, otherwise the file. */
  input(file: string): AsyncIterable<Buffer> {
    return file === '-' ? this.surroundings.stdin : createReadStream(this.path(file));
  }

  /** Loads the settings. `more` has further flags of the command, by the names of the settings. */
  async settings(needs: Needs = {}, more: Flags = {}): Promise<Settings> {
    const { loadSettings } = await import('../../../workers/config/config.js');
    return loadSettings({ ...this.options, ...more }, needs, this.surroundings);
  }

  /** Returns a client by the settings, which is closed when the command ends. */
  async client(needs: Needs = {}): Promise<Client> {
    const settings = await this.settings({ ...needs, database: true });
    const [{ createClient }, { clientPlugs }, { sealing }] = await Promise.all([
      import('../../index.js'),
      import('../../../workers/temporal/plugs.js'),
      import('../../../workers/config/codec.js'),
    ]);
    const { address, namespace, connection } = settings.temporal;
    this.opened = createClient({
      databaseUrl: settings.databaseUrl!,
      schema: settings.schema,
      prefix: settings.prefix,
      handlers: settings.handlers,
      ...(settings.hooks === undefined ? {} : { hooks: settings.hooks }),
      ...sealing(settings),
      temporal: { address, namespace, connection, ...clientPlugs(settings.temporal) },
      maxConnections: 4,
      door: 'cli',
      onRingFailure: (error) =>
        this.out.note(
          `Note: the leaders could not be woken (${error.message}). Workers find the work by themselves within seconds of starting.`,
        ),
    });
    return this.opened;
  }

  async close(): Promise<void> {
    await this.opened?.close();
  }
}

/** The work of a command. Returns its exit code; undefined means 0. */
export type Work<Options, Args extends unknown[]> = (
  session: Session<Options>,
  ...args: Args
) => Promise<number | void>;

/**
 * Adapts a command's work to commander: passes the options of the program and of the command
 * together, and closes the session in any case.
 */
export const runs =
  <Options, Args extends unknown[]>(work: Work<Options, Args>) =>
  async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const args = given.slice(0, -2) as Args;
    const commandLine = commandLineOf(command);
    const session = new Session<Options>(command.optsWithGlobals(), commandLine.surroundings);
    try {
      commandLine.exitCode = (await work(session, ...args)) ?? EXIT.ok;
    } finally {
      await session.close();
    }
  };
