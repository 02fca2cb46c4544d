import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Replayed } from '../../../workers/temporal/replay/replay';
import type { RunHistory } from '../../../workers/temporal/replay/runs';
import { collected, command, wholeOption } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { plural, printable, table } from '../support/output';
import { expectInstalled } from '../support/optionalPackages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  file?: string[];
  ended: number;
}

export const replayCommand = (): Command =>
  command(
    'replay',
    'Check that this version continues the runs of the version before.',
    [
      'muster replay',
      'muster replay --ended 200 --json | jq .diverged',
      'temporal workflow show -w "muster/leader/orders/0" --output json > run.json && muster replay --file run.json',
    ],
    [
      'Reads the histories of all open runs of this installation (leaders, queuers, monitors, notifier,',
      'balancer, executions), and replays them on the installed workflow code. Changes nothing, makes no call,',
      'needs no database. Exit code 1 if a run diverges: after the upgrade that run would be ended and begun',
      'again, and its calls in flight may have an unknown outcome.',
    ].join('\n'),
  )
    .option('--file <file>', 'replay the history in this JSON file; repeatable', collected)
    .option('--ended <n>', 'replay so many ended runs, too', wholeOption(0, 100_000), 0)
    .action(runs(replayRuns));

async function replayRuns(session: Session<Options>): Promise<number> {
  const { file: files = [], ended } = session.options;
  expectInstalled('temporal');
  const settings = await session.settings({});
  const [{ replay }, { workflowBundle }, { createLogger, installRuntime }] = await Promise.all([
    import('../../../workers/temporal/replay/replay.js'),
    import('../../../workers/temporal/workflowBundle.js'),
    import('../../../workers/logging.js'),
  ]);
  const log = createLogger('silent');
  installRuntime(log, { shared: true, onPoisoned: () => undefined });
  const bundle = await workflowBundle(settings.temporal, log);
  const options = { ...settings.temporal, workflowBundle: bundle };
  if (files.length > 0) return tell(session, await replay(await fromFiles(session, files), options));
  const { openTemporal } = await import('../../../workers/temporal/replay/open.js');
  const { temporal, close } = await openTemporal(settings.temporal);
  try {
    const { countOpenRuns, openRuns, endedRuns } = await import('../../../workers/temporal/replay/runs.js');
    const { prefix } = settings;
    const total = (await countOpenRuns(temporal, prefix)) + ended;
    const progress = session.out.progress('replayed', total, 'runs');
    const all = async function* (): AsyncGenerator<RunHistory> {
      yield* openRuns(temporal, prefix);
      if (ended > 0) yield* endedRuns(temporal, prefix, ended);
    };
    const answer = await replay(all(), { ...options, onRun: (done) => progress.update(done) }).finally(() =>
      progress.stop(),
    );
    return tell(session, answer);
  } finally {
    await close();
  }
}

const fromFiles = async (session: Session, files: readonly string[]): Promise<RunHistory[]> => {
  const { historyOf } = await import('../../../workers/temporal/replay/historyFile.js');
  return Promise.all(files.map(async (file) => historyOf(await text(session.input(file)), file)));
};

const tell = (session: Session, answer: Replayed): number => {
  session.out.answer(answer, () => show(answer));
  return answer.ok ? EXIT.ok : EXIT.failed;
};

const show = ({ ok, runs: count, types, diverged }: Replayed): string => {
  if (count === 0) return 'No runs to replay: none is open, or none has made a decision yet.';
  const failed = (type: string): number => diverged.filter((one) => one.type === type).length;
  const rows = Object.entries(types)
    .sort()
    .map(([type, n]) => [type, n, failed(type)]);
  return [
    table(['workflow', 'runs', 'diverged'], rows),
    ...diverged.map(({ workflowId, runId, error }) => printable(`${workflowId} (run ${runId}): ${error}`)),
    ok
      ? `This version continues ${plural(count, 'run')}.`
      : `This version does not continue ${plural(diverged.length, 'run')}: each would be ended and begun again.`,
  ].join('\n');
};
