/** Where others look first for the HTTP API. */
export const USUAL_API_PORT = 8080;

/** What the HTTP API and the receiver of completions listen on: this machine only. */
export const LOCAL_HOST = '127.0.0.1';

/** Most bytes of one completion by HTTP: 50,000 results of 300 bytes. */
export const DEFAULT_CALLBACK_BYTES = 16_777_216;
