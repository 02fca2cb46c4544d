/**
 * Formats what Temporal's Web UI shows of the balancer: the numbers of nodes and partitions, and
 * what moved last and why. Pure.
 */
export const balancerDetails = (facts: {
  nowMs: number;
  epoch: number;
  rounds: number;
  moves: number;
  nodes: number;
  partitions: number;
  held: number;
  waiting: number;
  dueInMs: number | null;
  last: readonly string[];
}): string => {
  const { nowMs, epoch, rounds, moves, nodes, partitions, held, waiting, dueInMs, last } = facts;
  const next =
    dueInMs === null
      ? 'looks again when a node joins or leaves'
      : `looks again ${new Date(nowMs + dueInMs).toISOString()}`;
  return [
    `**Balancer**, as of ${new Date(nowMs).toISOString()}`,
    '',
    `- assignor epoch ${epoch}, ${rounds} rounds and ${moves} moves in this run; ${next}`,
    `- before this round ${held} of ${partitions} partitions were held, by ${nodes} live nodes; ${waiting} revoked and not yet given up`,
    ...(last.length === 0
      ? ['- nothing has moved yet']
      : ['', 'Last moves, newest first:', '', ...last.map((line) => `- ${line}`)]),
  ].join('\n');
};
