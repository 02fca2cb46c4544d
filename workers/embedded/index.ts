/**
 * Postgres and Temporal for a machine that has neither: real servers, started on loopback, gone
 * with the process that started them. Linux and macOS. For development, tests and demos; production
 * has its own (docker-compose.yml).
 */
export { startTemporalDev, type TemporalDev } from './devServer';
export type { TemporalDevOptions } from './devServerCommand';
export { startPostgres, type EmbeddedPostgres } from './postgresServer';
