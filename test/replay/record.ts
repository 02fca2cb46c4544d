import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { eventually } from '../helpers/eventually';
import globalSetup from '../helpers/global-setup';
import globalTeardown from '../helpers/global-teardown';
import { startMuster } from '../helpers/muster';
import { allScenarios } from './allScenarios';
import { handlerOf } from './scenarios';

/**
 * Records every scenario on the real dev server: `npm run build && MUSTER_TEST_NO_BUILD=1 node
 * dist/test/replay/record.js [scenario ...]`. See README.md here.
 */
const FOLDER = path.join(process.cwd(), 'test', 'replay', 'histories');
const MOST_RUNS = 4;

const record = async (): Promise<void> => {
  await globalSetup();
  mkdirSync(FOLDER, { recursive: true });
  const only = process.argv.slice(2);
  for (const scenario of allScenarios.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const muster = await startMuster([handlerOf(scenario)], { executions: scenario.executions ?? {} });
    try {
      await scenario.run(muster);
      const temporal = await muster.client.temporal();
      const list = async (): Promise<{ workflowId: string; runId: string; open: boolean }[]> => {
        const found = [];
        for await (const { workflowId, runId, status } of temporal.workflow.list({
          query: `TaskQueue = '${muster.prefix}${scenario.queue ?? ''}'`,
        }))
          found.push({ workflowId, runId, open: status.name === 'RUNNING' });
        return found;
      };
      const runs = await eventually(
        async () => ((all) => all.length > 0 && all.every((run) => !run.open) && all)(await list()),
        { timeoutMs: 90_000 },
      );
      for (const [i, { workflowId, runId }] of runs.slice(0, MOST_RUNS).entries()) {
        const history = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
        const type = workflowId.slice(muster.prefix.length + 1).split('/')[0]!;
        // Host names, pids and paths of the recording machine say nothing.
        const json = historyToJSON(history)
          .replaceAll(muster.node.id, 'node')
          .replace(/"identity": "[^"]*"/g, '"identity": "recorded"')
          .replace(/"stackTrace": "(?:[^"\\]|\\.)*"/g, '"stackTrace": ""');
        writeFileSync(path.join(FOLDER, `${scenario.name}.${type}.${i}.json`), `${json}\n`);
      }
      process.stdout.write(`${scenario.name}: ${runs.length} runs\n`);
    } finally {
      await muster.stop();
    }
  }
  await globalTeardown();
};

record().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
