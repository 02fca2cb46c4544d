import { spawnSync } from 'node:child_process';
import { processFlags } from '../../examples/support/flags';
import { runToEnd } from '../helpers/runToEnd';
import { ROOT } from '../project/project';

/** `npm run test:servers`: the sinks against ElasticMQ, DynamoDB Local and Dynalite. */
processFlags(
  {
    name: 'npm run test:servers --',
    summary: 'Runs the sinks of SQS and DynamoDB against ElasticMQ, DynamoDB Local and Dynalite, installed once.',
    result: 'The tests. Exit code 1 if one fails; 2 without Java and Maven: then nothing was tried.',
    examples: [''],
  },
  {},
);

runToEnd(async () => {
  const missing = ['java', 'mvn'].filter((program) => spawnSync(program, ['-version']).status !== 0);
  if (missing.length > 0) {
    process.stderr.write(
      `Cannot test against ElasticMQ and DynamoDB Local: expected java and mvn, got no ${missing.join(', ')}.\n`,
    );
    process.exitCode = 2;
    return true;
  }
  const { status } = spawnSync('npx', ['jest', 'test/sinks/otherServers'], { cwd: ROOT, stdio: 'inherit' });
  return status === 0;
});
