import type { Problem } from './configError';
import { ConfigError } from './configError';
import { isContract } from './contracts/defineContract';
import { isHandler } from './contracts/implement';
import { defineHandler } from './defineHandler';
import type { HttpHandlerOptions } from './http/httpHandler';
import { httpHandler } from './http/httpHandler';
import type { Handler, HandlerOptions } from './types';

/**
 * Finds the list of handlers in what a file may contain: an array, `{handlers}`, a single handler,
 * or a module with a default export of one of these.
 */
function listIn(value: unknown, depth = 0): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value as readonly unknown[];
  if (isHandler(value) || isContract(value)) return [value];
  if (typeof value !== 'object' || value === null || depth > 2) return undefined;
  const { handlers, default: exported } = value as { handlers?: unknown; default?: unknown };
  return listIn(handlers, depth + 1) ?? listIn(exported, depth + 1);
}

/** Describes a value by its keys only, since a handlers file may contain a plain secret. */
const shape = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return value === undefined ? 'nothing' : `a ${typeof value}`;
  return Array.isArray(value)
    ? 'an empty array'
    : `an object with ${Object.keys(value).slice(0, 10).join(', ') || 'no keys'}`;
};

function made(entry: unknown, options: HttpHandlerOptions): Handler {
  if (isHandler(entry)) return entry;
  if (isContract(entry)) {
    const message = 'expected a handler, got the contract alone: give what implement(contract, submit) returns';
    throw new ConfigError(`contract "${entry.name}"`, [{ path: '', message }]);
  }
  const isHttp = typeof entry === 'object' && entry !== null && (entry as { kind?: unknown }).kind === 'http';
  return isHttp ? httpHandler(entry, options) : defineHandler(entry as HandlerOptions);
}

/**
 * Returns the handlers of a configuration file. Entries are handlers made by `defineHandler` or
 * `httpHandler`, or options or JSON (`kind: 'http'`), from which handlers are made here. Throws one
 * `ConfigError` with the problems of all entries; also if there is no entry, or if two have the
 * same name.
 */
export function checkHandlers(value: unknown, options: HttpHandlerOptions = {}): Handler[] {
  const list = listIn(value);
  if (list === undefined || list.length === 0) {
    const message = `expected an array of handlers, {handlers: [...]} or a default export of either, got ${shape(value)}`;
    throw new ConfigError('the handlers file', [{ path: 'handlers', message }]);
  }
  const problems: Problem[] = [];
  const handlers: Handler[] = [];
  const places = new Map<string, number>();
  list.forEach((entry, place) => {
    try {
      const handler = made(entry, options);
      const first = places.get(handler.name);
      if (first === undefined) places.set(handler.name, place);
      else
        problems.push({
          path: `handlers.${place}.name`,
          message: `expected a unique name, got "${handler.name}" as in handlers.${first}`,
        });
      handlers.push(handler);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const { path, message } of error.problems)
        problems.push({ path: `handlers.${place}${path === '' ? '' : `.${path}`}`, message });
    }
  });
  if (problems.length > 0) throw new ConfigError('the handlers file', problems);
  return handlers;
}
