/** What to ring after the commit of a completion. */
export interface CompletionRings {
  handler: string;
  targetId: number;
  lanes: number[];
  hasNotifications: boolean;
  /** Tasks may have waited for some of the batch. */
  awaited: boolean;
}

/** Rings after many completions of one handler: those that end meanwhile share the next ring. */
export interface SharedRings {
  /** Adds rings without waiting for them. One that fails is logged. */
  addBehind(rings: CompletionRings | null): void;
  /** Resolves when everything added so far has been rung, or a ring has failed. */
  idle(): Promise<void>;
}

/** The rings after completions of one process, by handler. */
export interface CompletionRinger {
  of(handler: string): SharedRings;
}
