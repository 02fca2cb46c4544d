/** A leader with a bug: every workflow task of it fails, and the run stands still. */
export async function leader(): Promise<void> {
  throw new Error('planted: this code cannot run');
}

/** The same, a queuer. */
export async function queuer(): Promise<void> {
  throw new Error('planted: this code cannot run');
}
