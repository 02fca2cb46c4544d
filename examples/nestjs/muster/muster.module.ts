import type {
  DynamicModule,
  ModuleMetadata,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  Type,
} from '@nestjs/common';
import { Inject, Logger, Module } from '@nestjs/common';
import type { Client, ClientOptions, Handler } from 'temporal-muster';
import { createClient } from 'temporal-muster';
import type { StartedWorker, StartOptions } from 'temporal-muster/worker';
import { startWorker } from 'temporal-muster/worker';

/** A provider that has a handler: what its calls need is injected into it. */
export interface HandlerProvider {
  readonly handler: Handler;
}

/** Settings of the client and of the worker, which are the same by the same names. */
type Shared = Pick<StartOptions & ClientOptions, 'databaseUrl' | 'schema' | 'prefix' | 'payloadCodec' | 'hooks'>;

export interface MusterModuleOptions extends Shared {
  /** Address and namespace of the Temporal server. */
  temporal: { address: string; namespace?: string };
  /** Classes of providers, which this module makes; each is exported. */
  handlers: Type<HandlerProvider>[];
  /** Modules whose providers the handlers inject. */
  imports?: ModuleMetadata['imports'];
  /** Settings of the worker alone; false: this process only submits. Default: a worker runs. */
  worker?: Omit<StartOptions, keyof Shared | 'temporal' | 'handlers'> | false;
}

const OPTIONS = Symbol('options of Muster');
const HANDLERS = Symbol('handlers of Muster');
const CLIENT = Symbol('client of Muster');

/** Injects the client: `constructor(@InjectMuster() private readonly muster: Client)`. */
export const InjectMuster = (): ReturnType<typeof Inject> => Inject(CLIENT);

/**
 * Muster in a NestJS application: the client and the handlers are providers; the worker is started
 * when all modules are ready, and drained when the application is closed.
 */
@Module({})
export class MusterModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Logger(MusterModule.name);
  private worker: StartedWorker | null = null;

  constructor(
    @Inject(OPTIONS) private readonly options: MusterModuleOptions,
    @Inject(HANDLERS) private readonly handlers: readonly Handler[],
    @Inject(CLIENT) private readonly client: Client,
  ) {}

  static forRoot(options: MusterModuleOptions): DynamicModule {
    const { handlers, imports = [] } = options;
    const made = (...providers: HandlerProvider[]): Handler[] => providers.map(({ handler }) => handler);
    const client = (all: Handler[]): Client => createClient({ ...sharedOf(options), handlers: all });
    return {
      module: MusterModule,
      global: true,
      imports,
      providers: [
        ...handlers,
        { provide: OPTIONS, useValue: options },
        { provide: HANDLERS, useFactory: made, inject: [...handlers] },
        { provide: CLIENT, useFactory: client, inject: [HANDLERS] },
      ],
      exports: [CLIENT, ...handlers],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    const { worker = {} } = this.options;
    if (worker === false) return;
    this.worker = await startWorker({ ...sharedOf(this.options), ...worker, handlers: this.handlers });
    this.worker.ended.catch((error: unknown) => {
      this.log.error(`The worker has failed, and the process ends: ${String(error)}`);
      process.kill(process.pid, 'SIGTERM'); // what supervises it starts it anew
    });
  }

  /** Calls that run end within `worker.shutdownGraceMs`; nothing new is begun. */
  async onApplicationShutdown(): Promise<void> {
    await this.worker?.stop();
    await this.client.close();
  }
}

const sharedOf = ({ databaseUrl, schema, prefix, payloadCodec, hooks, temporal }: MusterModuleOptions) => ({
  databaseUrl,
  schema,
  prefix,
  payloadCodec,
  hooks,
  temporal,
});
