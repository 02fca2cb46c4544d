import { execFile } from 'node:child_process';
import { distPath } from '../../examples/paths';
import { Tally } from '../tally';
import { KIND_NAMES } from './attackers';

/**
 * `attack:rate` in small: what it counts, not how fast anything was.
 *
 * @full
 */

const tally = new Tally('honest tenant under all attacks at once');
/** What an API answers that is attacked; of crooked values it takes those that are none to it. */
const EXPECTED = /^(200|400|404|405|409|413|422|429|503|closed|left)$/;

interface Side {
  sent: number;
  accepted: number;
}
interface Line {
  phase: string;
  fixed: Side;
  top: Side;
  attacked: Record<string, Record<string, number>>;
  lost: number;
}

test('under all attacks at once, an honest tenant is served, and no task that was accepted is lost', async () => {
  const out = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [distPath('test/attacks/rate/rate.js'), '--short'],
      { timeout: 200_000 },
      (error, stdout, stderr) => (error === null ? resolve(stdout) : reject(new Error(`${stdout}\n${stderr}`))),
    );
  });
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  expect(lines.map(({ phase }) => phase)).toEqual(['before', 'under attack', 'after', 'all']);
  for (const { phase, fixed, top } of lines.slice(0, 3)) {
    tally.add(`fixed rate ${phase}`, fixed.accepted > 0 ? null : `none of ${fixed.sent} were accepted`);
    tally.add(`top rate ${phase}`, top.accepted > 0 ? null : `none of ${top.sent} were accepted`);
  }
  const { attacked } = lines[1]!;
  expect(Object.keys(attacked)).toEqual(KIND_NAMES);
  for (const [kind, ended] of Object.entries(attacked)) {
    const other = Object.keys(ended).filter((how) => !EXPECTED.test(how));
    tally.add(kind, other.length === 0 ? null : `ended in ${other.join(', ')}`);
  }
  for (const kind of ['greedy-bodies', 'crooked-values', 'floods'])
    expect(Object.keys(attacked[kind]!).length).toBeGreaterThan(0);
  tally.add('accepted tasks', lines[3]!.lost === 0 ? null : `${lines[3]!.lost} were lost`);
  expect(lines[3]).toMatchObject({ lost: 0, verify: true });
  tally.expectNoneThrough(14);
});
