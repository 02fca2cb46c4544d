/**
 * Tests of every system that take their world from `startMuster`, and start no process on an
 * address of its own: they also run through a PgBouncer, and on a real Temporal server.
 */
export const FILES = [
  'test/end-to-end/',
  'test/lanes/(ordered|lanes|input)\\.',
  'test/fanouts/(lifecycle|portions)\\.',
  'test/executions/(execution|usage)\\.',
  'test/nodes/(affinity|checkpoints)\\.',
  'test/client/(nouns|transactions)',
];
