import { isPort } from './ports';
import { openUiDoor } from './uiDoor';

/**
 * The process that docker-compose.yml has before Temporal's Web UI. The UI asks for no credentials
 * and has no list of the names that it answers; so it has no port of the machine, and this one has.
 * Arguments: port, host:port of the UI, and names that it answers beside those of this machine.
 */

const [own = '', ui = '', names = ''] = process.argv.slice(2);

const start = async (): Promise<void> => {
  const listensAt = Number(own);
  if (!isPort(listensAt)) throw new Error(`expected a port from 1 to 65535, got ${JSON.stringify(own)}. Name it.`);
  const [, host, port] = /^(.+):(\d+)$/.exec(ui) ?? [];
  if (host === undefined || !isPort(Number(port)))
    throw new Error(`expected host:port of the UI, got ${JSON.stringify(ui)}. Name it.`);
  const others = names
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  // In its container; which of the machine's addresses leads there is for the compose file to say.
  await openUiDoor(listensAt, { host, port: Number(port) }, { address: '0.0.0.0', names: others });
};

start().catch((error: Error) => {
  process.stderr.write(`Cannot open the door of the Web UI: ${error.message}\n`);
  process.exit(1);
});
