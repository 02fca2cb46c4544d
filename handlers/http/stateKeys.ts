import { SERVICE_BYTES_MAX } from '../../workflows/planning/lanes/limits';
import type { Findings } from '../configError';
import { show } from '../text';
import type { Wanted } from './cel/expression';
import { compileExpression, OF_PAYLOAD } from './cel/expression';
import { jsonOf, KEY, KEYS } from './cel/values';
import type { Path } from './path';
import { isBad, member, parsePath, readPath } from './path';
import { compileTemplate } from './template';

/**
 * What an ordered HTTP handler reads from a payload: the service, and the state keys that a task
 * reads and writes.
 */
export interface OrderPlan {
  readonly service?: (target: string, payload: unknown) => string;
  readonly reads?: (payload: unknown) => string[];
  readonly writes?: (payload: unknown) => string[];
  /** The plain paths among these, each with its setting. A JSON Schema must declare them. */
  readonly paths: readonly (readonly [string, Path])[];
}

export function compileOrder(config: unknown, findings: Findings): OrderPlan {
  const paths: [string, Path][] = [];
  const constant = member(member(config, 'service'), 'constant');
  const service =
    typeof constant === 'string'
      ? () => [constant]
      : compileOne(member(config, 'service'), 'service', KEY, findings, paths);
  return {
    ...(service === undefined ? {} : { service: (_: string, payload: unknown) => oneService(service(payload)) }),
    ...compileKeys(config, 'reads', findings, paths),
    ...compileKeys(config, 'writes', findings, paths),
    paths,
  };
}

type Read = (payload: unknown) => string[];

function compileKeys(
  config: unknown,
  setting: 'reads' | 'writes',
  findings: Findings,
  paths: [string, Path][],
): Partial<Record<'reads' | 'writes', Read>> {
  const entries = member(config, setting);
  if (!Array.isArray(entries)) return {};
  const all = entries.flatMap((entry, place) => compileOne(entry, `${setting}.${place}`, KEYS, findings, paths) ?? []);
  return { [setting]: (payload: unknown) => [...new Set(all.flatMap((read) => read(payload)))] };
}

/**
 * Compiles a path into the payload, or a template or an expression over `payload`. An array stands
 * for all of its members.
 */
function compileOne(
  text: unknown,
  at: string,
  wanted: Wanted,
  findings: Findings,
  paths: [string, Path][],
): Read | undefined {
  const evaluate = compileExpression(text, at, OF_PAYLOAD, wanted, findings);
  if (evaluate !== undefined) return (payload) => asKeys(jsonOf(evaluate({ payload })), at, false);
  if (typeof text !== 'string') return undefined;
  if (text.includes('{{')) {
    const template = compileTemplate(text, ['payload'], at, findings);
    return (payload) => asKeys(template.render({ payload }), at, true);
  }
  const path = parsePath(text);
  if (isBad(path)) {
    findings.add(at, `${path.bad}; got ${show(text)}`);
    return undefined;
  }
  paths.push([at, path]);
  return (payload) => asKeys(readPath(payload, path), `payload ${path.join('.')}`, false);
}

/**
 * Converts a value into keys. `mayMiss`: the value may be missing, since it comes from a template,
 * which marks its optional values.
 */
function asKeys(value: unknown, at: string, mayMiss: boolean): string[] {
  if (value === undefined && mayMiss) return [];
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map((one) => {
    const key = typeof one === 'number' || typeof one === 'boolean' ? String(one) : one;
    if (typeof key === 'string' && key !== '') return key;
    throw new Error(
      `${at}: expected text or a number (a state key or a service), or an array of them, got ${show(one)}`,
    );
  });
}

function oneService(keys: string[]): string {
  const [service] = keys;
  if (keys.length !== 1) throw new Error(`service: expected one text, got ${keys.length}`);
  const bytes = Buffer.byteLength(service!);
  if (bytes > SERVICE_BYTES_MAX) throw new Error(`service: expected 1-${SERVICE_BYTES_MAX} bytes, got ${bytes}`);
  return service!;
}
