/** A call as the downstream saw it. */
export interface Call {
  target: string;
  ids: string[];
  startedAtMs: number;
  endedAtMs: number;
}

export const expectInTurn = (calls: readonly Call[]): void => {
  for (const [i, call] of calls.entries())
    if (i > 0) expect(call.startedAtMs).toBeGreaterThanOrEqual(calls[i - 1]!.endedAtMs);
};
