import type { Action } from './actions';

/** One thing that is wrong: what, why, and what to do. */
export interface Finding {
  level: 'bad' | 'warn';
  what: string;
  why: string;
  next: string;
  /** Where to look. */
  href: string;
  action?: Action;
}
