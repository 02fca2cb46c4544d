import { MultiBar, Presets } from 'cli-progress';

/** How far the demo is: bars on a terminal, a line every few seconds elsewhere. */
export interface Progress {
  accepted(count: number): void;
  ended(count: number): void;
  stop(): void;
}

const LINE_EVERY_MS = 3_000;

export function startProgress(total: number, stream: NodeJS.WriteStream = process.stderr): Progress {
  return stream.isTTY ? bars(total, stream) : plainLines(total, stream);
}

function bars(total: number, stream: NodeJS.WriteStream): Progress {
  const format = '{what} [{bar}] {percentage}%  {value}/{total}  {duration_formatted}';
  // The cursor stays: Ctrl-C must not leave a terminal without one.
  const multi = new MultiBar({ format, stream, hideCursor: false, clearOnComplete: false }, Presets.shades_grey);
  const accepted = multi.create(total, 0, { what: 'accepted' });
  const ended = multi.create(total, 0, { what: 'ended   ' });
  return {
    accepted: (count) => accepted.update(count),
    ended: (count) => ended.update(count),
    stop: () => multi.stop(),
  };
}

function plainLines(total: number, stream: NodeJS.WriteStream): Progress {
  const now = { accepted: 0, ended: 0 };
  const of = (count: number) => `${count.toLocaleString('en-US')} of ${total.toLocaleString('en-US')}`;
  const say = () => stream.write(`accepted ${of(now.accepted)}, ended ${of(now.ended)}\n`);
  const timer = setInterval(say, LINE_EVERY_MS);
  return {
    accepted: (count) => (now.accepted = count),
    ended: (count) => (now.ended = count),
    stop: () => {
      clearInterval(timer);
      say();
    },
  };
}
