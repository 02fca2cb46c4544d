/** Usual port of the HTTP API, where other tools look first. */
export const USUAL_API_PORT = 8080;

/** Address on which the HTTP API and the receiver of completions listen: this machine only. */
export const LOCAL_HOST = '127.0.0.1';

/** Most bytes of one completion by HTTP: 50,000 results of 300 bytes. */
export const DEFAULT_CALLBACK_BYTES = 16_777_216;

/** How long a callback URL is valid, at least: a week. */
export const DEFAULT_CALLBACK_URL_MS = 604_800_000;
