import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const DAYS = ['-days', '2'];

/** Certificates of private authorities, made by openssl in a folder, valid for two days. */
export class Certificates {
  constructor(readonly folder: string) {}

  /** Makes an authority: `<name>.pem`. */
  authority(name: string): void {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    this.openssl('req', '-x509', ...NEW_KEY, ...DAYS, '-subj', `/CN=${name}`, ...files);
  }

  /**
   * Makes a certificate and its key, `<name>.crt` and `<name>.key`, signed by an authority.
   * `names`: for whom, such as `IP:127.0.0.1`.
   */
  certificate(name: string, by: string, names: string): void {
    writeFileSync(this.path(`${name}.ext`), `subjectAltName=${names}\n`);
    this.openssl('req', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const signed = ['-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial', ...DAYS];
    this.openssl('x509', '-req', '-in', `${name}.csr`, ...signed, '-extfile', `${name}.ext`, '-out', `${name}.crt`);
  }

  path(file: string): string {
    return path.join(this.folder, file);
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8');
  }

  private openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'pipe' });
  }
}
