/** A task that was found in a list; whether it is in the state that is asked for is seen later. */
export interface Candidate {
  seq: number;
  /** The batch that it was found in; null: in none. */
  batchId: number | null;
  /** It ended by itself, not with its batch; null: it has not ended. */
  isOwnEnd: boolean | null;
}

/** Some tasks of a list, and where the next ones begin; null: there are none. */
export interface Part<Place> {
  candidates: readonly Candidate[];
  next: Place | null;
}
