import { ROOT } from '../project';
import { AUDIT_EXIT, runAudit } from './audit';

/** `npm run audit`: exit code 0; 1: known vulnerabilities; 3: the registry does not audit. */

void runAudit(ROOT, process.env).then(({ exitCode, line }) => {
  (exitCode === AUDIT_EXIT.clean ? process.stdout : process.stderr).write(`${line}\n`);
  process.exitCode = exitCode;
});
