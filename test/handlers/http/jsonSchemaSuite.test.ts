import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Findings } from '../../../handlers/configError';
import { compileJsonSchema } from '../../../handlers/http/jsonSchema/jsonSchema';

/**
 * The required part of the official test suite of draft 2020-12, one group per line: commit
 * 44401e0c of json-schema-org/JSON-Schema-Test-Suite on GitHub. Its licence lies beside it.
 */
interface Group {
  file: string;
  group: string;
  schema: object | boolean;
  tests: { description: string; data: unknown; valid: boolean }[];
}
const groups = readFileSync(path.join(__dirname, 'suite/draft2020-12.ndjson'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Group);

/** What differs, of which docs/handlers/http-json.md has the reasons. */
const leftOut = JSON.parse(readFileSync(path.join(__dirname, 'suite/leftOut.json'), 'utf8')) as {
  /** Schemas that are refused at the start, as `file: group`. */
  refused: string[];
  /** Payloads that are judged differently, as `file: group: test`. */
  different: string[];
};

test('all of the required part holds, but for what is listed', () => {
  const refused: string[] = [];
  const different: string[] = [];
  let judged = 0;
  for (const { file, group, schema, tests } of groups) {
    const judge = compileJsonSchema(schema as object, 'schema', new Findings());
    if (judge === undefined) refused.push(`${file}: ${group}`);
    for (const { description, data, valid } of judge === undefined ? [] : tests) {
      judged++;
      if ((judge!(data).faults.length === 0) !== valid) different.push(`${file}: ${group}: ${description}`);
    }
  }
  expect({ refused, different }).toEqual(leftOut);
  expect([groups.length, judged]).toEqual([383, 1_128]);
});
