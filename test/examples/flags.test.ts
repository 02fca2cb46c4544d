import * as kinds from '../../examples/support/flags';

/**
 * The options of the scripts, in this process. What the scripts themselves say: scripts.test.ts.
 */

const script: kinds.Script = {
  name: 'npm run fly --',
  summary: 'Flies.',
  result: 'Feathers on stdout.',
  examples: ['', '--wings 3'],
};
const flags = {
  wings: kinds.numberFlag(2, { text: 'how many', min: 1, max: 8 }),
  eggs: kinds.numberFlag(undefined, { text: 'laid', min: 1, unset: 'as many as it likes' }),
  sizes: kinds.numbersFlag([1, 4], { text: 'in turns', min: 1 }),
  port: kinds.portFlag(),
  seed: kinds.seedFlag(),
  share: kinds.shareFlag(0.2, 'share of the seeds'),
  'beat-every': kinds.durationFlag(300, 'so often'),
  nest: kinds.textFlag(undefined, { text: 'where it lives', as: 'dir', unset: 'anywhere' }),
  kind: kinds.choiceFlag(['duck', 'goose'], 'duck', 'which bird'),
  lakes: kinds.choicesFlag(['como', 'garda', 'orta'], 'which lakes'),
  winds: kinds.listFlag(['north', 'south', 'west'], 'which winds'),
  keep: kinds.switchFlag('stay up'),
  'no-landing': kinds.switchFlag('never comes down'),
};
const defaults = {
  wings: 2,
  eggs: undefined,
  sizes: [1, 4],
  port: 0,
  seed: expect.any(Number) as number,
  share: 0.2,
  'beat-every': 300,
  nest: undefined,
  kind: 'duck',
  lakes: ['como', 'garda', 'orta'],
  winds: ['north', 'south', 'west'],
  keep: false,
  'no-landing': false,
};

const read = (given: readonly string[], table: Record<string, kinds.Flag<unknown>> = flags) => {
  const said = { out: '', err: '' };
  const output = {
    writeOut: (text: string) => void (said.out += text),
    writeErr: (text: string) => void (said.err += text),
  };
  try {
    return { values: kinds.readFlags(script, table, given, output), error: null, ...said };
  } catch (error) {
    return { values: null, error: error as Error & { exitCode: number }, ...said };
  }
};

test.each<[string, object]>([
  ['', {}],
  ['--wings 3 --eggs 12', { wings: 3, eggs: 12 }],
  ['--wings=3', { wings: 3 }],
  ['--wings 3 --wings 4', { wings: 4 }],
  ['--sizes 2,8,32', { sizes: [2, 8, 32] }],
  ['--port 65535 --seed 7', { port: 65_535, seed: 7 }],
  ['--share 1', { share: 1 }],
  ['--share .05', { share: 0.05 }],
  ['--beat-every 0', { 'beat-every': 0 }],
  ['--beat-every 20', { 'beat-every': 20 }],
  ['--beat-every 20ms', { 'beat-every': 20 }],
  ['--beat-every 1.5s', { 'beat-every': 1_500 }],
  ['--beat-every 2m', { 'beat-every': 120_000 }],
  ['--nest /tmp/x --kind goose', { nest: '/tmp/x', kind: 'goose' }],
  ['--lakes orta', { lakes: ['orta'] }],
  ['--winds west,north', { winds: ['west', 'north'] }],
  ['--lakes orta --lakes como', { lakes: ['orta', 'como'] }],
  ['--lakes orta como --keep', { lakes: ['orta', 'como'], keep: true }],
  ['--keep --no-landing', { keep: true, 'no-landing': true }],
])('"%s" is read, the rest has its defaults', (line, given) => {
  expect(read(line.split(' ').filter((word) => word !== ''))).toEqual({
    values: { ...defaults, ...given },
    error: null,
    out: '',
    err: '',
  });
});

/** The option, what came, what was expected. */
test.each<[string, ...string[]]>([
  ['--wings many', "'--wings <n>'", "'many'", 'Expected a whole number from 1 to 8.'],
  ['--wings 9', "'--wings <n>'", "'9'", 'Expected a whole number from 1 to 8.'],
  ['--wings 1.5', "'--wings <n>'", "'1.5'", 'Expected a whole number from 1 to 8.'],
  ['--wings -1', "'--wings <n>'", "'-1'", 'Expected a whole number from 1 to 8.'],
  ['--wings --keep', "'--wings <n>'", "'--keep'", 'Expected a whole number from 1 to 8.'],
  ['--wings', "'--wings <n>'", 'argument missing'],
  ['--eggs 0', "'--eggs <n>'", "'0'", 'Expected a whole number of at least 1.'],
  ['--sizes 1,,2', "'--sizes <n,n,...>'", "'1,,2'", 'Expected a whole number of at least 1.'],
  ['--port 70000', "'--port <port>'", "'70000'", 'Expected a whole number from 0 to 65535.'],
  ['--share 1.1', "'--share <share>'", "'1.1'", 'Expected a number from 0 to 1.'],
  ['--share half', "'--share <share>'", "'half'", 'Expected a number from 0 to 1.'],
  ['--beat-every often', "'--beat-every <duration>'", "'often'", 'Expected a duration such as'],
  ['--beat-every 1.2.3', "'--beat-every <duration>'", "'1.2.3'", 'Expected a duration such as'],
  ['--nest --keep', "'--nest <dir>'", "'--keep'", 'Expected <dir> before the next option.'],
  ['--kind swan', "'--kind <name>'", "'swan'", 'Allowed choices are duck, goose.'],
  ['--lakes orta iseo', "'--lakes <name...>'", "'iseo'", 'Allowed choices are como, garda, orta.'],
  [
    '--winds north,east',
    "'--winds <name,name,...>'",
    "'north,east'",
    "Expected some of north, south, west, with commas between, got 'east'.",
  ],
  ['--wigns 3', "unknown option '--wigns'", 'Did you mean --wings?'],
  ['3', 'expected options only', "'3'", '--'],
])('"%s" is refused', (line, ...parts) => {
  const { error, out, err } = read(line.split(' '));
  expect({ exitCode: error?.exitCode, out }).toEqual({ exitCode: 1, out: '' }); // processFlags makes 2 of it
  for (const part of [...parts, 'npm run fly -- --help']) expect(err).toContain(part);
});

test.each(['--help', '-h'])(
  '%s shows the usage, every option with its meaning, limits and default, and the examples',
  (help) => {
    const { error, out, err } = read(['--wings', '3', help]);
    expect({ exitCode: error?.exitCode, err }).toEqual({ exitCode: 0, err: '' });
    const lines = out.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' '));
    expect(lines).toEqual(
      expect.arrayContaining([
        'Usage: npm run fly -- [options]',
        'Flies.',
        '--wings <n> how many; 1 to 8 (default: 2)',
        '--eggs <n> laid; at least 1 (default: as many as it likes)',
        '--sizes <n,n,...> in turns (default: 1,4)',
        '--port <port> TCP port on 127.0.0.1; 0: any free one; 0 to 65535 (default: 0)',
        '--share <share> share of the seeds; 0 to 1 (default: 0.2)',
        '--beat-every <duration> so often (500ms, 2s, 1m; a bare number is milliseconds) (default: 300ms)',
        '--nest <dir> where it lives (default: anywhere)',
        '--kind <name> which bird (choices: "duck", "goose", default: "duck")',
        '--winds <name,name,...> which winds: north, south, west (default: all)',
        '--keep stay up (default: off)',
        '--no-landing never comes down (default: off)',
        'Feathers on stdout.',
        'Exit code 2: an option is wrong; nothing was started.',
        '$ npm run fly',
        '$ npm run fly -- --wings 3',
      ]),
    );
    expect(out.replace(/\s+/g, ' ')).toContain(
      '--lakes <name...> which lakes (choices: "como", "garda", "orta", default: all)',
    );
    expect(out.replace(/\s+/g, ' ')).toMatch(/--seed <n> .* the same choices \(default: random\)/);
  },
);

test('a needed text is asked for, and may come from the environment; its value is not shown', () => {
  const env = 'MUSTER_TEST_FLAG_URL';
  const needed = { url: kinds.neededTextFlag({ text: 'the database', as: 'url', env }) };
  expect(read([], needed)).toMatchObject({ values: null, err: expect.stringContaining("'--url <url>' not specified") });
  process.env[env] = 'postgres://secret@host';
  try {
    expect(read([], needed).values).toEqual({ url: 'postgres://secret@host' });
    expect(read(['--url', 'other'], needed).values).toEqual({ url: 'other' });
    const { out } = read(['--help'], needed);
    expect(out).toContain(`the database (required) (env: ${env})`);
    expect(out).not.toContain('secret');
  } finally {
    delete process.env[env];
  }
});

test('without a seed each run has another one', () => {
  const seeds = Array.from({ length: 20 }, () => read([], { seed: kinds.seedFlag() }).values!['seed']);
  expect(new Set(seeds).size).toBeGreaterThan(1);
});
