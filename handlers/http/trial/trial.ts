import type { Findings } from '../../configError';
import type { Trial } from '../../trials/trial';
import type { Handler } from '../../types';
import { celIn } from '../cel/expression';
import { member } from '../path';
import type { Reference, Template } from '../template';
import { compileTemplate } from '../template';
import type { WirePlan } from './wire';
import { wireOf } from './wire';

/**
 * Compiles the setting `sample`: a payload by which a handler can be certified. Undefined: there is
 * none.
 */
export function compileSample(
  config: unknown,
  references: readonly Reference[],
  findings: Findings,
): Template | undefined {
  const sample = member(config, 'sample');
  if (sample === undefined) return undefined;
  if (!references.some(({ root }) => root === 'id'))
    findings.add('request.item', 'expected {{id}} in it beside sample, got none: a certificate finds the tasks by it');
  if (member(config, 'accepted') !== undefined)
    findings.add('sample', 'expected none beside accepted: an asynchronous downstream cannot be certified yet');
  const tables = [member(member(config, 'response'), 'status'), member(config, 'answers')];
  if (tables.some((table) => hasCondition(table)))
    findings.add('sample', 'expected none beside conditions in CEL: no answer is known that makes one true');
  return compileTemplate(sample, ['text'], 'sample', findings);
}

const hasCondition = (table: unknown): boolean =>
  Object.values((table ?? {}) as Record<string, unknown>).some((entry) => celIn(entry) !== undefined);

const ORIGIN = /^https?:\/\/[^/]+/;

/** Returns what `muster certify` needs; `create` makes the handler of a configuration. */
export function trialOf(sample: Template, plan: WirePlan, create: (config: object) => Handler): Trial<Handler> {
  const { config } = plan;
  return {
    at: (address) => create(moved(config, address)),
    payload: (text) => sample.render({ text }),
    wire: () => wireOf(plan),
  };
}

/** Returns the configuration with another address. Look-ups are left out: the fake answers none. */
function moved(config: unknown, address: string): object {
  const { request, reconcileUrl: _lookUp, absentAfterMs: _age, ...rest } = config as Record<string, unknown>;
  const url = String(member(request, 'url')).replace(ORIGIN, address);
  return { ...rest, request: { ...(request as object), url } };
}
