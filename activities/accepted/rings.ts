/** Who is to be told after the commit of a completion. */
export interface CompletionRings {
  handler: string;
  targetId: number;
  lanes: number[];
  notices: boolean;
}

/** Rings after many completions of one handler: those that end meanwhile share the next ring. */
export interface SharedRings {
  /** Without waiting. One that fails is logged. */
  addBehind(rings: CompletionRings | null): void;
  /** Resolves when all whose completion was added were told, or a ring has failed. */
  idle(): Promise<void>;
}

/** The rings after completions of one process, by handler. */
export interface CompletionRinger {
  of(handler: string): SharedRings;
}
