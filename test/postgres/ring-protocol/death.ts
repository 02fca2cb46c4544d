/** A process died here. */
export class Death extends Error {}
