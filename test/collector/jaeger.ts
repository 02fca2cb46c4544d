import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../helpers/eventually';
import { freePort } from '../helpers/machine/freePort';

const BIN = path.join(__dirname, 'bin', 'jaeger');
const PACKAGE = 'github.com/jaegertracing/jaeger/cmd/jaeger';

/** Builds Jaeger by the versions and hashes of `go.mod` and `go.sum`, if it is not there. */
export const buildJaeger = (say: (line: string) => void): void => {
  if (existsSync(BIN)) return;
  mkdirSync(path.dirname(BIN), { recursive: true });
  say(`building ${PACKAGE} with Go: some minutes`);
  const args = ['build', '-mod=readonly', '-o', BIN, PACKAGE];
  const { status, error } = spawnSync('go', args, { cwd: __dirname, stdio: ['ignore', 2, 2] });
  if (error !== undefined) throw new Error(`Cannot build Jaeger: ${error.message}. Install Go 1.25 or later.`);
  if (status !== 0) throw new Error(`Cannot build Jaeger: go build ended with ${status}.`);
};

/** Its collector with OTLP over HTTP, a store in memory, and the API of its viewer. */
const configOf = (otlp: string, api: string): object => ({
  service: {
    extensions: ['jaeger_storage', 'jaeger_query'],
    pipelines: { traces: { receivers: ['otlp'], exporters: ['jaeger_storage_exporter'] } },
    telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
  },
  extensions: {
    jaeger_query: {
      storage: { traces: 'memory' },
      enable_tracing: false,
      http: { endpoint: api },
      grpc: { endpoint: '127.0.0.1:0' },
    },
    jaeger_storage: { backends: { memory: { memory: { max_traces: 1_000 } } } },
  },
  receivers: { otlp: { protocols: { http: { endpoint: otlp } } } },
  exporters: { jaeger_storage_exporter: { trace_storage: 'memory' } },
});

/** A span, as the API of Jaeger returns it. */
export interface StoredSpan {
  traceID: string;
  spanID: string;
  operationName: string;
  /** Microseconds. */
  startTime: number;
  duration: number;
  references: { refType: 'CHILD_OF' | 'FOLLOWS_FROM'; traceID: string; spanID: string }[];
  tags: { key: string; value: unknown }[];
}

export interface Jaeger {
  /** Where spans are sent to. */
  otlpUrl: string;
  /** Returns the spans of a trace that are stored. */
  spansOf(traceId: string): Promise<StoredSpan[]>;
  stop(): Promise<void>;
}

export const startJaeger = async (): Promise<Jaeger> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-jaeger-'));
  const [otlp, api] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const config = path.join(folder, 'config.json');
  writeFileSync(config, JSON.stringify(configOf(otlp, api)));
  const child = spawn(BIN, ['--config', config], { stdio: ['ignore', 'inherit', 'inherit'] });
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const answers = (): Promise<boolean> =>
    fetch(`http://${api}/api/services`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(answers);
  return {
    otlpUrl: `http://${otlp}/v1/traces`,
    spansOf: async (traceId) => {
      const answer = await fetch(`http://${api}/api/traces/${traceId}`);
      if (!answer.ok) return [];
      const { data } = (await answer.json()) as { data: { spans: StoredSpan[] }[] };
      return data.flatMap(({ spans }) => spans);
    },
    stop: async () => {
      child.kill('SIGTERM');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
