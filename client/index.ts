/** Muster's public API. */
export { createClient, Client, MAX_TASKS_PER_CALL } from './client';
export type { ClientOptions, SubmitOptions, SubmitResult, TaskSource } from './client';
export type { Callback, TaskInput } from './checkTasks';
export * from './errors';
export * from '../activities/handlers';
