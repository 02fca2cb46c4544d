import type { OtherServer } from './otherServers';
import { DYNALITE, DYNAMODB_LOCAL, ELASTICMQ, startServer } from './otherServers';
import { testDynamoDb } from './protocols/dynamodb';
import type { At } from './protocols/sent';
import { LOCAL } from './protocols/sent';
import { testSqs } from './protocols/sqs';

/** Sinks against ElasticMQ, DynamoDB Local and Dynalite: `npm run test:servers`. @full */

const START_MS = 400_000;

/** Starts a server for the tests of one group, and says where it is. */
const useServer = (program: Parameters<typeof startServer>[0]): (() => At) => {
  let server: OtherServer;
  beforeAll(async () => {
    server = await startServer(program);
  }, START_MS);
  afterAll(() => server.stop());
  return () => ({ ...LOCAL, endpoint: server.url });
};

describe('SQS, as ElasticMQ speaks it', () => testSqs(useServer(ELASTICMQ)));
describe('DynamoDB, as DynamoDB Local speaks it', () => testDynamoDb(useServer(DYNAMODB_LOCAL)));
describe('DynamoDB, as Dynalite speaks it', () => testDynamoDb(useServer(DYNALITE)));
