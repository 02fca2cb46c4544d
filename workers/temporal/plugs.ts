import type { ClientInterceptors } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { ActivityInterceptorsFactory, WorkerInterceptors } from '@temporalio/worker';
import { withDashboardLinks } from '../../workflows/dashboardLinks';

/** What users plug into Muster's use of Temporal. The names are the SDK's. */
export interface TemporalPlugs {
  /**
   * How arguments and results are encoded, such as with a codec that encrypts. Every process of an
   * installation needs the same: workers, API, command line, clients, and the workers of workflows
   * that use `temporal-muster/workflow`.
   */
  dataConverter?: PluggedDataConverter | undefined;
  interceptors?: TemporalInterceptors | undefined;
  /** Address of the dashboard, to which Muster's workflows link; undefined: they do not. */
  dashboardUrl?: string | undefined;
}

/** A data converter of the SDK, without external storage. */
export type PluggedDataConverter = Pick<
  DataConverter,
  'payloadConverterPath' | 'failureConverterPath' | 'payloadCodecs'
>;

export interface TemporalInterceptors {
  /** Interceptors of the calls to Temporal of every process. */
  client?: Pick<ClientInterceptors, 'workflow'> | undefined;
  /** Interceptors of the worker's activities, each a factory. */
  activity?: ActivityInterceptorsFactory[] | undefined;
  /**
   * Modules that export `interceptors`, for the workflows: they are bundled with these when a
   * worker starts.
   */
  workflowModules?: string[] | undefined;
}

/** Returns the interceptors of a worker except its workflows', which are in the bundle. */
export const workerInterceptors = ({ client, activity }: TemporalInterceptors = {}): WorkerInterceptors => ({
  ...(client === undefined ? {} : { client }),
  ...(activity === undefined ? {} : { activity }),
});

/** Returns what a client of the SDK gets of them. */
export const clientPlugs = ({ dataConverter, interceptors: given, dashboardUrl }: TemporalPlugs) => {
  const interceptors = withDashboardLinks(dashboardUrl, given?.client, dataConverter);
  return {
    ...(dataConverter === undefined ? {} : { dataConverter }),
    ...(interceptors === undefined ? {} : { interceptors }),
  };
};
