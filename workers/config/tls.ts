import { z } from 'zod';
import { show } from '../../handlers/text';
import { setting, strict, text } from './checked';
import type { SecretOptions } from './secret';
import { masked, secret } from './secret';

/** How to use TLS to the Temporal server, as its SDK takes it. */
export interface TlsOptions {
  serverNameOverride?: string | undefined;
  serverRootCACertificate?: Uint8Array | undefined;
  clientCertPair?: { crt: Uint8Array; key: Uint8Array } | undefined;
}

const EXPECTED = 'true, false, or {serverNameOverride, serverRootCACertificate, clientCertPair: {crt, key}}';
const PEM = 'text in PEM, which begins with -----BEGIN';
const pem = text(PEM, (value) => /^\s*-----BEGIN [A-Z0-9 ]+-----/.test(value), masked);

/** Takes bytes where a file is code, or text, which becomes bytes. */
const bytes = (inner: z.ZodType<string>): z.ZodType<Uint8Array> =>
  z.unknown().transform((value, context): Uint8Array => {
    if (value instanceof Uint8Array) return value;
    const parsed = inner.safeParse(value);
    if (parsed.success) return Buffer.from(parsed.data);
    context.addIssue({ code: 'custom', message: parsed.error.issues[0]!.message });
    return z.NEVER;
  });

/** Checks `temporal.tls`: a misspelt option would be a connection without it. */
export const tls = (options: SecretOptions): z.ZodType<boolean | TlsOptions> => {
  const shape = strict({
    serverNameOverride: setting(
      text('a name without spaces', (value) => /^\S{1,253}$/.test(value)),
      'Name for which the certificate of the server is checked.',
    ),
    serverRootCACertificate: bytes(pem).optional(),
    clientCertPair: strict({ crt: bytes(pem), key: bytes(secret(options, pem)) }).optional(),
  });
  return z
    .unknown()
    .transform((value, context): boolean | TlsOptions => {
      if (typeof value === 'boolean') return value;
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        context.addIssue({ code: 'custom', message: `expected ${EXPECTED}, got ${show(value)}` });
        return z.NEVER;
      }
      const parsed = shape.safeParse(value);
      if (parsed.success) return parsed.data;
      for (const issue of parsed.error.issues) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
      return z.NEVER;
    })
    .meta({ expected: EXPECTED });
};
