import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { startWorker } from '../../../workers/worker';
import { createDatabase, temporalAddress } from '../../helpers/database';

/** What a worker that serves its metrics says of its own health. @slow */

interface Report {
  parts: { part: string; failingSince: string | null; error: string | null }[];
}
const PARTS = ['database', 'polls', 'temporal', 'turns', 'workers'];

test('a worker tells of each part: the servers, its polls, its workers, and work that stands still', async () => {
  const database = await createDatabase();
  const lines: { msg: string; url?: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const worker = await startWorker({
    databaseUrl: database.url,
    prefix: `embed-${randomBytes(5).toString('hex')}`,
    temporal: { address: temporalAddress() },
    log,
    metrics: { port: 0 },
  });
  try {
    const { url } = lines.find(({ msg }) => msg === 'serving metrics')!;
    const { parts } = (await (await fetch(new URL('/healthz', url))).json()) as Report;
    expect(parts.map(({ part }) => part).sort()).toEqual(PARTS);
    expect((await worker.health()).parts.map(({ part }) => part).sort()).toEqual(PARTS);
    const text = await (await fetch(url!)).text();
    for (const name of ['muster_healthy', 'muster_silent_seconds']) {
      const told = [...text.matchAll(new RegExp(`^${name}\\{part="(\\w*)"\\} `, 'gm'))].map(([, part]) => part);
      expect(told.sort()).toEqual(PARTS);
    }
    const kinds = [...text.matchAll(/^muster_poll_age_seconds\{kind="(\w*)"\} /gm)].map(([, kind]) => kind);
    expect(kinds.sort()).toEqual(['activities', 'workflow']);
  } finally {
    await worker.stop();
    await database.drop();
  }
});
