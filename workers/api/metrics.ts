import { Counter, Histogram, Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { OutcomeMeters } from '../../activities/outcomes/meters';
import type { Pool } from '../../postgres/pool';
import { addConnectionGauges } from '../metrics/connectionGauges';
import { addLiveGauge } from '../metrics/liveGauge';
import { StoreMetrics } from '../metrics/storeMetrics';
import type { FairTime } from './callers/fairTime';
import type { Admission } from './limits';

/**
 * The store's metrics and this process's own, labelled by operation and status: never by the
 * content of requests.
 */
export class ApiMetrics {
  readonly registry = new Registry();
  private readonly store: StoreMetrics;
  private readonly seconds: Histogram<'operation'>;
  private readonly requests: Counter<'operation' | 'status'>;

  /** `keys`: the pool of idempotency keys. */
  constructor(
    pools: Readonly<Record<'main' | 'keys', Pool>>,
    { admission, fair, meters }: { admission: Admission; fair: FairTime; meters: OutcomeMeters },
    log: Logger,
  ) {
    const registers = [this.registry];
    this.store = new StoreMetrics(this.registry, { pool: pools.main, outcomeMeters: meters, log });
    meters.register(this.registry);
    addConnectionGauges(this.registry, pools);
    this.requests = new Counter({
      name: 'muster_api_requests_total',
      help: 'Requests answered',
      labelNames: ['operation', 'status'],
      registers,
    });
    this.seconds = new Histogram({
      name: 'muster_api_request_seconds',
      help: 'Time from the turn of a request to its answer, without streams and long polls',
      labelNames: ['operation'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    });
    addLiveGauge(
      this.registry,
      { name: 'muster_api_open_requests', help: 'Requests in progress; held: not begun yet', label: 'kind' },
      () => ({ ...admission.open, held: fair.held.requests }),
    );
    addLiveGauge(
      this.registry,
      {
        name: 'muster_api_refused',
        help: 'Refused at the limits since the start: 503 (busy), 429 (waiting, caller, held)',
        label: 'kind',
      },
      () => ({ ...admission.refused, held: fair.held.refused }),
    );
  }

  answered(operation: string, status: number, ms: number | null): void {
    this.requests.inc({ operation, status: String(status) });
    if (ms !== null) this.seconds.observe({ operation }, ms / 1_000);
  }

  async text(): Promise<string> {
    await this.store.refresh();
    return this.registry.metrics();
  }
}
