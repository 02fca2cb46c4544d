/** How often an activity gives its sign of life, and looks at what changed meanwhile. */
export const TICK_MS = 1_000;
