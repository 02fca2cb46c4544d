import { climbs } from '../../workflows/planning/urlPath';
import type { Findings } from '../configError';
import { RejectedError } from '../errors';
import type { Scope } from './template';
import { asText, compileTemplate, valueOf } from './template';

export interface UrlTemplate {
  /**
   * Renders the URL, with every value encoded as one URL component. Throws `RejectedError` for a
   * value that would leave its place in the path.
   */
  render(scope: Scope): string;
  /** The template as written. */
  readonly text: string;
  readonly roots: ReadonlySet<string>;
}

const TOKEN = /\{\{[^{}]*\}\}/g;
const SECRET_PARAMETER = /^(api[-_]?key|key|token|access[-_]?token|secret|password|sig|signature|auth)$/i;
const leavesItsPlace = (url: string): boolean => climbs(url.replace(/^[a-z]+:\/\/[^/?#]*/i, ''));

/**
 * Compiles a URL such as `https://api.example.com/{{target}}/_bulk`. Host and scheme are fixed, so
 * that the content of tasks never decides who gets the credentials.
 */
export function compileUrl(text: unknown, roots: readonly string[], at: string, findings: Findings): UrlTemplate {
  const nothing: UrlTemplate = { render: () => '', text: '', roots: new Set() };
  if (typeof text !== 'string') return nothing;
  const { references } = compileTemplate(text, roots, at, findings);
  const problem = urlProblem(text);
  if (problem !== undefined) {
    findings.add(at, problem);
    return nothing;
  }
  const between = text.split(TOKEN);
  return {
    text,
    roots: new Set(references.map(({ root }) => root)),
    render: (scope) => {
      const url = between
        .map(
          (plain, i) =>
            plain +
            (i < references.length ? encodeURIComponent(wellFormed(asText(valueOf(references[i]!, scope)))) : ''),
        )
        .join('');
      if (leavesItsPlace(url))
        throw new RejectedError(`expected values that stay in their place in ${text}, got one that is . or ..`);
      return url;
    },
  };
}

/** Replaces half surrogates, for which `encodeURIComponent` would throw. */
const wellFormed = (value: string): string => Buffer.from(value).toString();

function urlProblem(text: string): string | undefined {
  // Renders the URL with two different words that no host contains by chance: if the origin
  // differs, it contains a template.
  const [one, other] = ['musterone', 'mustertwo'].map((filling) => {
    try {
      return new URL(text.replace(TOKEN, filling));
    } catch {
      return undefined;
    }
  });
  if (one === undefined || other === undefined || !/^https?:$/.test(one.protocol))
    return 'expected an absolute http:// or https:// URL';
  if (one.origin !== other.origin)
    return 'expected a fixed host, got {{...}} in it; only path and query may have templates';
  if (one.username !== '' || one.password !== '') {
    return 'expected no user or password in the URL; send it as a header {"env": "NAME", "prefix": "Basic "}';
  }
  const secret = [...one.searchParams.keys()].find((name) => SECRET_PARAMETER.test(name));
  if (secret !== undefined)
    return `expected no secret in the URL, got the parameter "${secret}"; send it as a header {"env": "NAME"}`;
  if (leavesItsPlace(text)) return 'expected a path without . and .. segments';
  return undefined;
}
