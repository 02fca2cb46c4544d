/** A defect in the wiring: a line that hands over a setting, an answer or a wake. */
export interface Defect {
  system: 'grouping' | 'lanes' | 'fan-outs' | 'executions' | 'nodes';
  /** What is broken, as a reviewer would put it. */
  what: string;
  file: string;
  /** Text that occurs once in the file, and what is put in its place. */
  from: string;
  to: string;
  /** The test file of `npm test` that sees it. */
  test: string;
}

/**
 * Defects in lines that rules of planning rest on and generated mutants seldom reach, at least
 * three per system. `npm run mutants:wiring` plants each.
 */
export const DEFECTS: readonly Defect[] = [
  {
    system: 'grouping',
    what: 'a turn that waits for a slot does not look again after it has published that',
    file: 'activities/grouping/claim.ts',
    from: 'if (turn.wantsSlots && (await hasFreeSlot(deps.pool, input.leaderId))) answer.again = true;',
    to: 'void hasFreeSlot;',
    test: 'test/workflows/slots/freeSlots.test.ts',
  },
  {
    system: 'grouping',
    what: 'a turn does not look again whether work came due meanwhile',
    file: 'activities/grouping/claim.ts',
    from: "if (answer.next !== 'working' && (await isDueEarlier(deps.pool, input.leaderId))) answer.again = true;",
    to: 'void isDueEarlier;',
    test: 'test/workflows/slots/freeSlots.test.ts',
  },
  {
    system: 'grouping',
    what: 'a dispatch does not renew the lease of its leader',
    file: 'activities/calls/dispatchRun.ts',
    from: 'await keepLeader(pool, input.leaderId, input.epoch, this.deps.leaseMs);',
    to: 'void keepLeader;',
    test: 'test/workflows/slots/dispatch.test.ts',
  },
  {
    system: 'grouping',
    what: 'a dispatch that ends offers its slot to no leader that waits for one',
    file: 'activities/calls/dispatchRun.ts',
    from: 'await wake(this.deps, await wakeBlockedLeaders(pool, handlerId, input, WAKE_LEASE_MS));',
    to: 'void wake;',
    test: 'test/workflows/slots/dispatch.test.ts',
  },
  {
    system: 'grouping',
    what: 'a dispatch with long calls offers what an ended one freed to no leader that waits',
    file: 'activities/calls/dispatchRun.ts',
    from: 'await wakeBlockedLeaders(pool, handlerId, null, WAKE_LEASE_MS);',
    to: '(await wakeBlockedLeaders(pool, handlerId, null, WAKE_LEASE_MS)).slice(0, 0);',
    test: 'test/workflows/slots/dispatch.test.ts',
  },
  {
    system: 'grouping',
    what: 'a dispatch with long calls does not tell its leader that has due work of the free slots',
    file: 'activities/calls/dispatchRun.ts',
    from: '...(await findStarvedLeader(pool, input.leaderId))',
    to: '...(await findStarvedLeader(pool, -1))',
    test: 'test/workflows/slots/dispatch.test.ts',
  },
  {
    system: 'lanes',
    what: 'an acceptance does not free what depends on the batch',
    file: 'activities/lanes/home.ts',
    from: 'reference, frees, ...poll }',
    to: 'reference, frees: frees && false, ...poll }',
    test: 'test/lanes/acceptances/writer.test.ts',
  },
  {
    system: 'lanes',
    what: 'a grant that leaves more does not wake the queuer for the other free slots',
    file: 'activities/lanes/granter.ts',
    from: 'if (more) void this.wakes',
    to: 'if (more && again) void this.wakes',
    test: 'test/lanes/grants/granter.test.ts',
  },
  {
    system: 'lanes',
    what: 'a turn does not look again for work that it has not seen',
    file: 'activities/lanes/grant.ts',
    from: '(await hasUnseenWork(deps.pool, input.queuerId))',
    to: 'Boolean(hasUnseenWork) && false',
    test: 'test/lanes/takeover.test.ts',
  },
  {
    system: 'lanes',
    what: 'the last half of a refused batch is judged without the other one',
    file: 'activities/lanes/home.ts',
    from: 'parentId !== null ? lockPair(client, parentId, id) : null',
    to: 'parentId === id ? lockPair(client, parentId, id) : null',
    test: 'test/lanes/halves.test.ts',
  },
  {
    system: 'fan-outs',
    what: 'all parts of an add have the same key',
    file: 'client/fanouts/fanout.ts',
    from: 'keyOfPart(key, part++)',
    to: 'keyOfPart(key, part)',
    test: 'test/fanouts/refusals.test.ts',
  },
  {
    system: 'fan-outs',
    what: 'an acknowledgement whose answer was lost is not told apart from a repeat',
    file: 'client/fanouts/ackItems.ts',
    from: 'withRetries(() => onceMore(() => apply(portion)))',
    to: 'withRetries(() => (void onceMore, apply(portion)))',
    test: 'test/fanouts/refusals.test.ts',
  },
  {
    system: 'fan-outs',
    what: "the sweeper reaps by its own intervals in place of the operator's",
    file: 'workers/sweeper/sweeper.ts',
    from: 'new FanoutReaper(options.pool, options.fanouts)',
    to: 'new FanoutReaper(options.pool)',
    test: 'test/fanouts/reaper.test.ts',
  },
  {
    system: 'fan-outs',
    what: 'the parts of an add by a workflow have the same key',
    file: 'activities/fanouts/workflowFanouts.ts',
    from: '`${key}/${part++}`',
    to: '`${key}/${part}`',
    test: 'test/fanouts/largeAdds.test.ts',
  },
  {
    system: 'fan-outs',
    what: 'what completes a fan-out with a recipient does not wake the notifier',
    file: 'client/fanouts/notify.ts',
    from: 'if (completed.some(({ told }) => told)) await wakeNotifierOf(client);',
    to: 'void [wakeNotifierOf, client];',
    test: 'test/fanouts/lifecycle.test.ts',
  },
  {
    system: 'executions',
    what: 'an item that was lost before begins before the results of those before it are stored',
    file: 'activities/executions/chunkItems.ts',
    from: 'if (lostBefore) await flush();',
    to: 'void flush;',
    test: 'test/executions/losses.test.ts',
  },
  {
    system: 'executions',
    what: 'a turn is not told that the time for the roll call has passed',
    file: 'activities/executions/rollCall.ts',
    from: 'rollCallOver: input.rollCallOver,',
    to: 'rollCallOver: false,',
    test: 'test/executions/skipping.test.ts',
  },
  {
    system: 'executions',
    what: 'the sweeper wakes an execution at the same time as its own timer does',
    file: 'activities/executions/rollCall.ts',
    from: 'resumeInMs: waitMs(deps, response, chunks) + SLACK_MS,',
    to: 'resumeInMs: waitMs(deps, response, chunks) + 0 * SLACK_MS,',
    test: 'test/executions/losses.test.ts',
  },
  {
    system: 'executions',
    what: "a turn gives items back by the default in place of the operator's most losses",
    file: 'activities/executions/rollCall.ts',
    from: 'giveBackItems(db, chunk.id, maxLosses)',
    to: 'giveBackItems(db, (void maxLosses, chunk.id))',
    test: 'test/executions/losses.test.ts',
  },
  {
    system: 'nodes',
    what: 'a partition that is overdue does not count as expired',
    file: 'activities/nodes/balance.ts',
    from: 'expired: row.expired || overdue || row.holder === null',
    to: 'expired: row.expired || (overdue && false) || row.holder === null',
    test: 'test/nodes/expiry.test.ts',
  },
  {
    system: 'nodes',
    what: 'a round that gives partitions does not wake what waits for them',
    file: 'activities/nodes/balance.ts',
    from: 'if (round.given.length > 0) await wakeServed(deps, round.given);',
    to: 'void wakeServed;',
    test: 'test/nodes/balance/wakes.test.ts',
  },
  {
    system: 'nodes',
    what: 'work of an earlier epoch may begin under the lease of a later one',
    file: 'activities/nodes/partitions.ts',
    from: 'if (seen === undefined || !this.isOpen(id, epoch)) return null;',
    to: 'if (seen === undefined || !this.isOpen(id, null)) return null;',
    test: 'test/nodes/fencing.test.ts',
  },
  {
    system: 'nodes',
    what: 'checkpoints are not written before a partition is given up',
    file: 'activities/nodes/partitions.ts',
    from: 'await Promise.all(partitions.map(({ id }) => this.checkpoints.flush(id)));',
    to: 'void partitions;',
    test: 'test/nodes/checkpoints.test.ts',
  },
  {
    system: 'nodes',
    what: 'the balancer moves what has just moved',
    file: 'workflows/planning/nodes/limits.ts',
    from: '  minimumHoldMs,\n  deadBand',
    to: '  minimumHoldMs: 0 * minimumHoldMs,\n  deadBand',
    test: 'test/nodes/expiry.test.ts',
  },
  {
    system: 'nodes',
    what: 'a balancer by load does not read the load',
    file: 'activities/nodes/balance.ts',
    from: "const loads = settings.by === 'load' ?",
    to: "const loads = settings.by === 'load' && LOAD_OVER_MS < 0 ?",
    test: 'test/nodes/load.test.ts',
  },
  {
    system: 'executions',
    what: 'the rate of a host is not shared among the nodes of an execution',
    file: 'activities/executions/workOrder.ts',
    from: '/ taken.siblings',
    to: '/ (taken.siblings * 0 + 1)',
    test: 'test/executions/hostPace.test.ts',
  },
];
