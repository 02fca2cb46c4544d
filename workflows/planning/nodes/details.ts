/**
 * Returns what the Web UI shows of the balancer: how much each node holds, what moved last, when
 * and why. Pure.
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
      ? 'looks again when a node comes or goes'
      : `looks again ${new Date(nowMs + dueInMs).toISOString()}`;
  return [
    `**Balancer**, as of ${new Date(nowMs).toISOString()}`,
    `- assignor epoch ${epoch}, ${rounds} rounds and ${moves} moves in this run; ${next}`,
    `- before this round ${held} of ${partitions} partitions were held, by ${nodes} live nodes; ${waiting} asked back and not yet given up`,
    ...(last.length === 0
      ? ['- nothing has moved yet']
      : ['', 'Last moves, newest first:', ...last.map((line) => `- ${line}`)]),
  ].join('\n');
};
