import { boundLog } from '../../../handlers/logging/boundLog';
import type { CallLog } from '../../../handlers/contract';
import type { RegisteredFunction } from '../../../handlers/functions';
import { describeThrown } from '../../../handlers/text';
import { isMetadata } from './metadata';
import { METADATA_BYTES_MAX, METADATA_NAMES_MAX } from '../../../workflows/planning/executions/usage';
import type { Executor, RunCall, RunOutcome } from './types';
import { nodeFailure } from './types';

/** Runs a registered TypeScript function, in this process. */
export const typescriptExecutor = (registered: RegisteredFunction, log: CallLog): Executor => ({
  runsCode: true,
  run: async (args, call) => {
    try {
      return outcomeOf(registered.name, await registered.run(args, { ...call, log: logOf(log, registered, call) }));
    } catch (error) {
      return { exitCode: 1, stdout: '', stderr: describeThrown(error) };
    }
  },
  close: () => Promise.resolve(),
});

const logOf = (
  log: CallLog,
  { name }: RegisteredFunction,
  { method, executionId: execution, position }: RunCall,
): CallLog => boundLog(log, { function: name, method, execution, position });

const outcomeOf = (name: string, answer: unknown): RunOutcome => {
  if (answer === undefined || answer === null) return { exitCode: 0, stdout: '', stderr: '' };
  if (typeof answer === 'string') return { exitCode: 0, stdout: answer, stderr: '' };
  const { stdout = '', stderr = '', exitCode = 0, metadata } = answer as Record<string, unknown>;
  if (typeof stdout !== 'string' || typeof stderr !== 'string' || !isExitCode(exitCode))
    return nodeFailure(
      `function ${name}: expected a string, or {stdout?, stderr?, exitCode?, metadata?} with texts and a whole number, as its answer`,
    );
  if (metadata === undefined) return { exitCode, stdout, stderr };
  if (!isMetadata(metadata))
    return nodeFailure(
      `function ${name}: expected metadata of at most ${METADATA_NAMES_MAX} texts by name, ${METADATA_BYTES_MAX} bytes as JSON`,
      stdout,
      stderr,
    );
  return { exitCode, stdout, stderr, metadata };
};

const isExitCode = (value: unknown): value is number =>
  Number.isInteger(value) && Math.abs(value as number) < 2_147_483_648;
