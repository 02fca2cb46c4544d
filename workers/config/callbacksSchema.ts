import { z } from 'zod';
import { parseAllowed } from '../../activities/callbacks/allowed';
import { show } from '../../handlers/text';
import { NAME_MAX } from '../../workflows/planning/callbacks/address';
import { DEFAULT_WORKFLOWS, RESERVED } from '../../workflows/planning/callbacks/workflows';
import { DAY_MS } from '../../workflows/planning/duration';
import { checked, setting, strict, text, whole } from './checked';
import { DEFAULT_CALLBACK_BYTES, DEFAULT_CALLBACK_URL_MS, LOCAL_HOST } from './defaults';
import type { SecretOptions } from './secret';
import { masked, secrets } from './secret';

/** `callback` (completions of downstreams) and `callbacks` (to recipients) of the config file. */

export const isPort = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 65_535;
export const PORT = 'a port from 0 (a free one) to 65535';
export const portText = text(PORT, (value) => /^\d{1,5}$/.test(value) && isPort(Number(value)));
export const hostName = text('a host name or address to listen on', (value) => /^[^\s/@]+$/.test(value));

export const truthText = text('true or false', (value) => value === 'true' || value === 'false');

const ALLOWED = 'a host name, such as hooks.example.com, with :port or :* for every port, and http:// for plain http';
const allowed = text(ALLOWED, (entry) => parseAllowed(entry) !== null);
export const hosts = z
  .array(allowed, { error: (issue) => `expected a list of host names, got ${show(issue.input)}` })
  .meta({ expected: 'a list of host names' });

/** What Standard Webhooks demands: less can be guessed, more is not a secret's form. */
const WEBHOOK_BYTES = { least: 24, most: 64 };
const PREFIX = 'whsec_';
const webhookSecret = text(
  `a Standard Webhooks secret, ${PREFIX} and base64 of ${WEBHOOK_BYTES.least} to ${WEBHOOK_BYTES.most} bytes`,
  (value) => {
    if (!/^whsec_[A-Za-z0-9+/]+=*$/.test(value)) return false;
    const { length } = Buffer.from(value.slice(PREFIX.length), 'base64');
    return length >= WEBHOOK_BYTES.least && length <= WEBHOOK_BYTES.most;
  },
  masked,
);

/** Short ones can be guessed from one URL. */
export const callbackSecret = text(
  'at least 32 characters, such as `openssl rand -base64 32` gives',
  (value) => value.length >= 32,
  masked,
);
export const callbackUrl = text(
  'an http:// or https:// URL without query, user or password',
  (value) => {
    if (!/^https?:\/\//.test(value) || !URL.canParse(value)) return false;
    const { username, password, search, hash } = new URL(value);
    return `${username}${password}${search}${hash}` === '';
  },
  masked,
);
const CALLBACK_BYTES_MAX = 268_435_456;

export const callbackShape = (options: SecretOptions) => ({
  port: setting(checked<number>(PORT, isPort), 'Port on which a worker takes completions by HTTP.', 'off'),
  host: setting(hostName, 'Address on which it listens.', LOCAL_HOST),
  url: setting(callbackUrl, 'Address under which downstreams reach it.', 'the address on which it listens'),
  secret: setting(
    secrets(options, callbackSecret),
    'Signs the URLs that downstreams get; the same in every worker. A list: the first. In JSON as `{"env": "NAME"}`.',
  ),
  urlMs: setting(
    whole(60_000, 365 * DAY_MS),
    'How long such a URL is valid, at least; `poll.deadlineMs` of the handler, if that is longer.',
    DEFAULT_CALLBACK_URL_MS,
  ),
  maxBytes: setting(whole(1_024, CALLBACK_BYTES_MAX, 'bytes'), 'Most bytes of one completion.', DEFAULT_CALLBACK_BYTES),
});

const patterns = (what: string, fits: (pattern: string) => boolean = () => true) =>
  z
    .array(
      text(what, (one) => one !== '' && one.length <= NAME_MAX && !one.includes('\0') && fits(one)),
      { error: (issue) => `expected a list of patterns, got ${show(issue.input)}` },
    )
    .max(1_000, 'expected at most 1,000 patterns')
    .meta({ expected: 'a list of patterns' });
const ids = patterns('a workflow id, in which * stands for any text');
const signals = patterns(
  'a name of a signal, in which * stands for any text, that does not begin with __',
  (one) => !one.startsWith(RESERVED),
);

const workflowsShape = {
  allow: setting(ids, 'Workflows that callbacks may signal; never Muster’s own.', DEFAULT_WORKFLOWS.allow.join(', ')),
  signals: setting(signals, 'Signals that a callback may name, besides Muster’s own two.', 'none'),
  http: setting(ids, 'Workflows that callers of the HTTP API may name as well.', 'none'),
};

const receivers = (options: SecretOptions) =>
  z
    .array(
      strict({
        allow: allowed,
        secret: secrets(options, webhookSecret),
      }),
      { error: (issue) => `expected a list of {allow, secret}, got ${show(issue.input)}` },
    )
    .max(1_000, 'expected at most 1,000 receivers')
    .meta({ expected: 'a list of `{allow, secret}`' });

export const callbacksShape = (options: SecretOptions) => ({
  allow: setting(hosts, 'Hosts to which webhooks may be sent, on the default port or the named one.', 'none'),
  secret: setting(
    secrets(options, webhookSecret),
    'Signs webhooks as Standard Webhooks does. A list: each signs. In JSON as `{"env": "NAME"}`.',
    'none: webhooks are not sent',
  ),
  receivers: setting(receivers(options), 'Hosts with separate secrets; they need not stand in `allow`.', 'none'),
  workflows: strict(workflowsShape).optional(),
});
