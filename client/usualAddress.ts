/** Where Temporal's servers listen unless told otherwise. */
export const USUAL_PORT = 7233;
export const USUAL_ADDRESS = `localhost:${USUAL_PORT}`;
