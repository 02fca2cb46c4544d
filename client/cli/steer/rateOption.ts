import { InvalidArgumentError } from 'commander';
import type { Rate } from '../../../handlers/types';
import { durationOption } from '../support/command';

const RATE = /^(\d+(?:\.\d+)?)\/([^:]+?)(?::(calls|items|weight))?(?::(handler|target))?$/;

/** Parses a rate such as `10/1s`, `600/1m:items` or `5/1s:calls:target`; `none` is no rate. */
const parseRate = (text: string): Rate[] => {
  if (text === 'none') return [];
  const [, limit, per, unit = 'calls', scope] = RATE.exec(text) ?? [];
  if (limit === undefined || per === undefined)
    throw new InvalidArgumentError('Expected a rate such as 10/1s, 600/1m:items or 5/1s:calls:target, or "none".');
  return [
    {
      limit: Number(limit),
      perMs: durationOption(per),
      unit: unit as Rate['unit'],
      ...(scope === undefined ? {} : { scope: scope as 'handler' | 'target' }),
    },
  ];
};

/** Collects the rates of an option that may be given several times. */
export const collectedRates = (text: string, before: Rate[] = []): Rate[] => [...before, ...parseRate(text)];

/** Parses a weight: a number above 0. */
export const weightOption = (text: string): number => {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError('Expected a number above 0.');
  return value;
};
