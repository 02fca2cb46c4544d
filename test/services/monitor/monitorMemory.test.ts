import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ItemResult } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import { rounds } from '../../helpers/long';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/** @full */

const MEMBERS = rounds(10_000, 50_000);
const RESULT_BYTES = 4_000;
const MB = 1_048_576;
const WHAT = `${MEMBERS.toLocaleString('en')} members with ${(MEMBERS * RESULT_BYTES) / 1e6} MB of results`;

let done = false;
let ids: string[] = [];
/**
 * What is held counts, not what the collector has not come to yet: so it is run before each look.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const memory = (): { rss: number; heap: number } => {
  collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss: rss / MB, heap: (heapUsed + external) / MB };
};
let baseline = { rss: 0, heap: 0 };
const peak = { rss: 0, heap: 0 };
const watch = (): void => {
  const now = memory();
  peak.rss = Math.max(peak.rss, now.rss);
  peak.heap = Math.max(peak.heap, now.heap);
};
/** As a file of results that is read line by line. */
async function* lines(): AsyncGenerator<ItemResult> {
  baseline = memory();
  for (const [i, id] of ids.entries()) {
    if (i % 1_000 === 0) watch();
    yield { id, status: 'ok', result: `${i} ${'r'.repeat(RESULT_BYTES)}` };
  }
}
const files = defineHandler<{ to: string }>({
  name: 'files',
  target: (payload) => payload.to,
  limits: { maxItems: MEMBERS },
  linger: { lingerMs: 60_000 },
  poll: { everyMs: 200, deadlineMs: 600_000 },
  submit: async (batch) => {
    ids = batch.tasks.map((task) => task.id);
    return { status: 'accepted', reference: 'file' };
  },
  status: async (references) => references.map((reference) => ({ reference, status: done ? 'done' : 'pending' })),
  results: lines,
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([files]);
});
afterAll(() => muster.stop());

test(`a batch of ${WHAT} settles in bounded memory [H8]`, async () => {
  for (let first = 0; first < MEMBERS; first += 10_000)
    await muster.client.submit(
      'files',
      Array.from({ length: 10_000 }, (_, i) => ({ id: `member-${first + i}`, payload: { to: 'model' } })),
    );
  await eventually(() => ids.length === MEMBERS, {
    timeoutMs: 60_000,
    what: () => `one batch of ${MEMBERS}, the last had ${ids.length}`,
  });
  done = true;
  const { pool } = muster.database;
  await eventually(async () => (await pool.query<{ state: number }>('select state from batch')).rows[0]!.state === 4, {
    timeoutMs: 120_000,
    everyMs: 100,
  });
  watch();
  // Of the attempt that was settled: on a slow machine an earlier one may have been given up in the
  // middle.
  const { rows } = await pool.query<{ pages: number; members: number; largest: number }>(
    'select count(*) as pages, sum(json_array_length(results)) as members, max(octet_length(results::text)) as largest from result_page p join batch b on b.id = p.batch_id and b.attempt = p.attempt',
  );
  const [rss, heap] = [peak.rss - baseline.rss, peak.heap - baseline.heap].map(Math.round) as [number, number];
  process.stderr.write(`[beside] ${WHAT}: +${rss} MB resident, +${heap} MB held, ${rows[0]!.pages} pages
`);
  expect(Number(rows[0]!.members)).toBe(MEMBERS);
  expect(rows[0]!.largest).toBeLessThan(1.1 * MB);
  // What is held is a small part of what was read. (Resident memory is the collector's and the
  // machine's affair: told, not judged.)
  expect(heap).toBeLessThan((MEMBERS * RESULT_BYTES) / MB / 3);
  expect(await muster.client.getTask(`member-${MEMBERS - 1}`)).toMatchObject({
    state: 'succeeded',
    result: expect.stringMatching(new RegExp(`^${MEMBERS - 1} r+$`)),
  });
}, 240_000);
