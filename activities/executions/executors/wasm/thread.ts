import { Worker } from 'node:worker_threads';
import type { RunOutcome } from '../types';
import { nodeFailure } from '../types';
import type { CompiledModule } from './compile';
import { THREAD_SOURCE } from './threadSource';

export interface ThreadCall {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  stdoutBytes: number;
  stderrBytes: number;
}
interface ThreadAnswer {
  exitCode: number | null;
  error?: string;
  stdout: { text: string; total: number };
  stderr: { text: string; total: number };
  cpuMs?: number;
  memoryBytes?: number;
}

/** A thread that runs one module, one run at a time; interrupting a run ends its thread. */
export class WasmThread {
  private worker: Worker | null = null;

  constructor(private readonly module: CompiledModule) {}

  run(call: ThreadCall, signal: AbortSignal): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const interrupt = (): void => {
        const reason = signal.reason as Error | undefined;
        this.end(nodeFailure(`interrupted: ${String(reason?.message ?? reason)}`));
        void this.close();
      };
      this.end = (outcome) => {
        this.end = () => undefined; // ignore anything it reports after this
        signal.removeEventListener('abort', interrupt);
        resolve(outcome);
      };
      if (signal.aborted) return interrupt();
      signal.addEventListener('abort', interrupt);
      this.worker ??= this.start();
      this.worker.postMessage(call);
    });
  }

  async close(): Promise<void> {
    const { worker } = this;
    this.worker = null;
    await worker?.terminate();
  }

  private end: (outcome: RunOutcome) => void = () => undefined;

  private start(): Worker {
    const worker = new Worker(THREAD_SOURCE, {
      eval: true,
      workerData: { module: this.module },
      env: {}, // none of this process's variables
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdin: false,
      stdout: true,
      stderr: true,
    });
    // Reports of a thread that was replaced after an interruption are ignored.
    const mine = (outcome: () => RunOutcome) => (): void => {
      if (this.worker !== worker) return;
      this.worker = null;
      this.end(outcome());
    };
    worker.on('message', (answer: ThreadAnswer) => {
      if (this.worker === worker) this.end(outcomeOf(answer));
    });
    worker.on('error', (error) => mine(() => nodeFailure(`the thread of the module failed: ${error.message}`))());
    worker.on('exit', (code) => mine(() => nodeFailure(`the thread of the module ended with ${code}`))());
    return worker;
  }
}

const outcomeOf = ({ exitCode, error, stdout, stderr, ...used }: ThreadAnswer): RunOutcome => ({
  ...used,
  ...(error === undefined
    ? { exitCode, stdout: stdout.text, stderr: stderr.text }
    : nodeFailure(error, stdout.text, stderr.text)),
  stdoutBytes: stdout.total,
  stderrBytes: stderr.total,
});
