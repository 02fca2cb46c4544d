import type { Case } from '../case';
import { ANSWER_CASES } from './answers';
import { ITEM_CASES } from './items';
import { LOST_CASES } from './lost';
import { POISON_CASES } from './poison';
import { REFUSAL_CASES } from './refusals';
import { REPEAT_CASES } from './repeats';
import { SIZE_CASES } from './sizes';
import { TIME_CASES } from './time';

/** All cases of a certificate, in the order in which they are run. */
export const CASES: readonly Case[] = [
  ...ITEM_CASES,
  ...POISON_CASES,
  ...REFUSAL_CASES,
  ...LOST_CASES,
  ...ANSWER_CASES,
  ...TIME_CASES,
  ...REPEAT_CASES,
  ...SIZE_CASES,
];
