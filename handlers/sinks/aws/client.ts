import { HaltError } from '../../errors';
import { loadPackage } from '../missingPackage';

/** The credentials of an AWS client, as the SDK takes them. */
export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** How a sink reaches AWS: by a client of the user's, or by one that it makes of these. */
export interface AwsOptions<Client> {
  /**
   * The user's own client, made with `maxAttempts: 1`: the SDK's own retries would send again what
   * may have been applied, which only the handler's settings may decide.
   */
  client?: Client;
  /** Default: as the SDK finds it. */
  region?: string;
  /** The address of a server that speaks the protocol; default: AWS itself. */
  endpoint?: string;
  /** Default: as the SDK finds them. */
  credentials?: AwsCredentials;
}

/** What all AWS clients have in common, as far as a sink needs it. */
interface AnyClient {
  readonly config: { maxAttempts?: number | (() => Promise<number>) };
  send(command: never, options?: { abortSignal?: AbortSignal }): Promise<unknown>;
}

/** Settings with which a sink makes its own client. */
export interface ClientSettings {
  region?: string;
  endpoint?: string;
  credentials?: AwsCredentials;
  maxAttempts: 1;
}

/** The package of an AWS client, and how a client and a command of it are made. */
export interface AwsService<Sdk, Client extends AnyClient> {
  readonly sink: string;
  readonly packageName: string;
  readonly load: () => Promise<Sdk>;
  readonly create: (sdk: Sdk, settings: ClientSettings) => Client | Promise<Client>;
}

/** Loads the SDK and makes the client with the first call. */
export class AwsCaller<Sdk, Client extends AnyClient> {
  private opened: Promise<{ sdk: Sdk; client: Client }> | undefined;

  constructor(
    private readonly service: AwsService<Sdk, Client>,
    private readonly options: AwsOptions<Client>,
  ) {}

  /** Returns the SDK and the client. Throws `HaltError` if it is missing, or would retry. */
  async open(): Promise<{ sdk: Sdk; client: Client }> {
    this.opened ??= this.load();
    try {
      return await this.opened;
    } catch (error) {
      this.opened = undefined;
      throw error;
    }
  }

  private async load(): Promise<{ sdk: Sdk; client: Client }> {
    const { sink, packageName, load, create } = this.service;
    const sdk = await loadPackage(sink, packageName, load);
    const { client: given, region, endpoint, credentials } = this.options;
    const client = given ?? (await create(sdk, { region, endpoint, credentials, maxAttempts: 1 }));
    const { maxAttempts } = client.config;
    const attempts = typeof maxAttempts === 'function' ? await maxAttempts() : maxAttempts;
    if (attempts !== 1)
      throw new HaltError(
        `Cannot send with ${sink}: client.maxAttempts: expected 1, got ${String(attempts)}. ` +
          'Make the client with maxAttempts: 1, restart the workers, and resume the handler.',
      );
    return { sdk, client };
  }
}

/** What a client needs to speak to a server on this machine, which checks no signature. */
export const LOCAL_AWS = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
} as const;
