import { execFile } from 'node:child_process';
import { productionPackages } from './lock';

/** `npm audit` of what is shipped, with "nothing was found" told from "nobody was asked". */

export const AUDIT_EXIT = {
  /** The registry was asked and knows no vulnerability. */
  clean: 0,
  /** At least one vulnerability is known. */
  vulnerable: 1,
  /** The registry did not audit: nothing is known. */
  unanswered: 3,
} as const;

export interface Verdict {
  exitCode: number;
  line: string;
}

interface Advisory {
  title: string;
  url?: string;
}
interface Report {
  auditReportVersion?: number;
  vulnerabilities?: Record<string, { severity: string; via: (Advisory | string)[] }>;
  /** Of a registry that does not audit. */
  message?: string;
  error?: { summary?: string; code?: string };
}

/** Returns what npm's report means. What is no report at all was not an audit, either. */
export const judgeAudit = (stdout: string, stderr = '', shipped = shippedNames()): Verdict => {
  const report = parsed(stdout);
  const { vulnerabilities = {} } = report;
  if (report.auditReportVersion === undefined) return unanswered(report, stderr);
  const found = Object.entries(vulnerabilities).filter(([name]) => shipped.has(name));
  if (found.length === 0)
    return { exitCode: AUDIT_EXIT.clean, line: `no known vulnerability in ${shipped.size} production packages` };
  const lines = found.map(([name, { severity, via }]) => `  ${name}, ${severity}: ${via.map(titleOf).join('; ')}`);
  return {
    exitCode: AUDIT_EXIT.vulnerable,
    line:
      `Cannot pass ${found.length} production packages with known vulnerabilities:\n${lines.join('\n')}\n` +
      'Raise their versions, or say in SECURITY.md why they do not matter.',
  };
};

/** npm's own `--omit=dev` leaves out the optional peers, too. */
const shippedNames = (): ReadonlySet<string> => new Set(productionPackages().map(({ name }) => name));

const parsed = (stdout: string): Report => {
  try {
    const value = JSON.parse(stdout) as unknown;
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
};

const titleOf = (via: Advisory | string): string => (typeof via === 'string' ? `by ${via}` : via.title);

/** One line, without the registry's address, which may hold a password. */
const unanswered = ({ message, error }: Report, stderr: string): Verdict => {
  const said = [message, error?.summary, stderr.split('\n')[0]].find((one) => one !== undefined && one !== '');
  const why = (said ?? 'npm said nothing').replaceAll(/\s+/g, ' ').replaceAll(/\b\w+:\/\/\S+/g, 'its address');
  return {
    exitCode: AUDIT_EXIT.unanswered,
    line:
      `Cannot audit: the registry does not answer audits (${why}). Nothing is known about vulnerabilities. ` +
      'Do it where the registry audits.',
  };
};

/** Asks the registry that npm is set to, once: npm would try for minutes. */
export const runAudit = (cwd: string, env: NodeJS.ProcessEnv): Promise<Verdict> =>
  new Promise((resolve) => {
    const args = ['audit', '--json', '--fetch-retries=0', '--fetch-timeout=30000'];
    execFile('npm', args, { cwd, env, maxBuffer: 64e6 }, (_, stdout, stderr) => resolve(judgeAudit(stdout, stderr)));
  });
