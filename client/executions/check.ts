import { didYouMean } from '../../handlers/suggest';
import type { ExecuteBatch } from '../../workflows/messages';
import { InvalidArgumentError, MusterError } from '../errors';
import { isNumberOfNodes } from '../../workflows/planning/executions/chunks';
import { isUuid } from '../../workflows/planning/uuid';

/** Options of an execution request. */
export interface ExecuteOptions {
  /** Only nodes that subscribe to this topic (1-256 bytes) are asked; default: all nodes. */
  topic?: string;
  /**
   * Most runs per item, 0 to 1,000,000. The operator's limit applies if it is lower, or if this is
   * absent or 0.
   */
  maxAttempts?: number;
  /**
   * A UUID chosen by the caller: repeated requests with the same UUID are accepted once. Default: a
   * new one.
   */
  requestId?: string;
  /** The tenant whose quotas it counts for, and who may see it. Default: none. */
  tenant?: string;
}
/**
 * How an execution runs: `numberOfNodes` (1 to 10,000; -1, the default: every node that answers),
 * `attributes`, `envVars`, `concurrency` (1 to 1,000), `ratePerHost` (runs per second), and
 * `timeoutMs` (at most a day).
 */
export type ExecutionConfig = ExecuteBatch['config'];
/** What an execution runs for each argument list. */
export interface Template {
  /**
   * The name of a function by `defineFunction`, the content id of a WebAssembly module, or `http`;
   * 1-512 bytes.
   */
  functionId: string;
  /** What to run of it: the file of a module, or the HTTP method of `http` (`GET`); 1-512 bytes. */
  method: string;
  /** How it runs; default: as the workers' config file says. */
  config?: ExecutionConfig;
}

/** Most bytes of one argument list, as JSON. */
const MAX_ARGUMENT_BYTES = 262_144;
const MAX_ARGUMENTS = 10_000;
/** Most items per execution. */
export const MAX_LISTS = 10_000_000;
const MAX_NAME_BYTES = 512;

const refuse = (field: string, expected: string, got: unknown, remedy?: string): never => {
  throw new InvalidArgumentError(field, expected, got, remedy);
};
const isName = (value: unknown, max = MAX_NAME_BYTES): boolean =>
  typeof value === 'string' &&
  value !== '' &&
  Buffer.byteLength(value) <= max &&
  !/[\u0000-\u001f\u007f]/.test(value) &&
  value.isWellFormed();
const isWhole = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;

/**
 * Checks a template and the options, and returns the template with its config.
 *
 * @throws InvalidArgumentError for the first problem.
 */
export const checkTemplate = (template: Template, options: ExecuteOptions): Required<Template> => {
  const { functionId, method, config = {} } = template ?? {};
  if (!isName(functionId)) refuse('functionId', '1-512 bytes of text without control characters', functionId);
  if (!isName(method)) refuse('method', '1-512 bytes of text without control characters', method);
  const { topic, maxAttempts, requestId } = options;
  if (topic !== undefined && !isName(topic, 256)) refuse('topic', '1-256 bytes of text', topic);
  if (maxAttempts !== undefined && !isWhole(maxAttempts, 0, 1_000_000))
    refuse('maxAttempts', "a whole number from 0 (the operator's limit) to 1,000,000", maxAttempts);
  if (requestId !== undefined && !isUuid(requestId)) refuse('requestId', 'a uuid', requestId);
  return { functionId, method, config: checkConfig(config) };
};

const CONFIG_FIELDS = ['numberOfNodes', 'attributes', 'envVars', 'concurrency', 'ratePerHost', 'timeoutMs'];

const checkConfig = (config: ExecutionConfig): ExecutionConfig => {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) refuse('config', 'an object', config);
  for (const key of Object.keys(config))
    if (!CONFIG_FIELDS.includes(key))
      refuse(`config.${key}`, `only ${CONFIG_FIELDS.join(', ')}`, key, didYouMean(key, CONFIG_FIELDS).slice(2));
  const { numberOfNodes, concurrency, ratePerHost, timeoutMs } = config;
  if (numberOfNodes !== undefined && !isNumberOfNodes(numberOfNodes))
    refuse('config.numberOfNodes', '-1 (every node that answers) or a whole number from 1 to 10,000', numberOfNodes);
  if (concurrency !== undefined && !isWhole(concurrency, 1, 1_000))
    refuse('config.concurrency', 'a whole number from 1 to 1,000', concurrency);
  if (timeoutMs !== undefined && !isWhole(timeoutMs, 1, 86_400_000))
    refuse('config.timeoutMs', 'milliseconds from 1 to 86,400,000 (a day)', timeoutMs);
  if (ratePerHost !== undefined && !(typeof ratePerHost === 'number' && ratePerHost > 0 && ratePerHost <= 1e6))
    refuse('config.ratePerHost', 'runs per second, above 0 and at most 1,000,000', ratePerHost);
  for (const field of ['attributes', 'envVars'] as const)
    for (const [name, value] of Object.entries(checkMap(config[field], field))) {
      const named = isName(name, 256) && (field === 'attributes' || !name.includes('='));
      if (!named || typeof value !== 'string' || value.includes('\0') || !value.isWellFormed())
        refuse(`config.${field}`, 'names and values without NUL', { [name]: value });
    }
  return config;
};

const checkMap = (map: unknown, field: string): Record<string, unknown> => {
  if (map === undefined) return {};
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    refuse(`config.${field}`, 'an object of strings by name', map);
  return map as Record<string, unknown>;
};

/** Checks one argument list, by its place; returns it as JSON. */
export const checkArguments = (args: unknown, position: number): string => {
  const at = `arguments[${position}]`;
  if (!Array.isArray(args)) return refuse(at, 'a list of strings', args);
  if (args.length > MAX_ARGUMENTS) refuse(at, `at most ${MAX_ARGUMENTS} strings`, args.length);
  for (const [i, text] of args.entries()) {
    if (typeof text !== 'string') refuse(`${at}[${i}]`, 'a string (write numbers in quotes)', text);
    // The strings may become arguments of a process, where NUL would end a string.
    if ((text as string).includes('\0') || !(text as string).isWellFormed())
      refuse(`${at}[${i}]`, 'well-formed text without NUL', text);
  }
  const json = JSON.stringify(args);
  if (Buffer.byteLength(json) > MAX_ARGUMENT_BYTES)
    refuse(at, `at most ${MAX_ARGUMENT_BYTES} bytes as JSON`, Buffer.byteLength(json));
  return json;
};

/**
 * The request has no argument list, so that nothing could ever complete it. Nothing was accepted.
 */
export class EmptyExecutionError extends MusterError {
  constructor() {
    super('INVALID_ARGUMENT', 'arguments: expected at least one argument list, got none. Nothing was accepted.');
  }
}
