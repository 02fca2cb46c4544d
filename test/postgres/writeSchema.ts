import { writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { OBJECTS_FILE } from '../../postgres/migrating/drift';
import { migrate } from '../../postgres/migrating/migrate';
import { startPostgres } from '../../workers/embedded';
import { dumpObjects, dumpSchema } from './schemaDump';

/**
 * `npm run schema:dump`: migrates an empty database of an embedded Postgres and writes what it
 * finds to postgres/schema.sql and postgres/schemaObjects.json. Run from its source: no build
 * needed.
 */
const writeSchema = async (): Promise<void> => {
  const file = path.join(__dirname, '..', '..', 'postgres', 'schema.sql');
  const server = await startPostgres();
  try {
    await migrate(server.url);
    const db = new pg.Client({ connectionString: server.url, options: '-c search_path=muster' });
    await db.connect();
    try {
      writeFileSync(file, await dumpSchema(db));
      writeFileSync(OBJECTS_FILE, await dumpObjects(db));
    } finally {
      await db.end();
    }
    console.log(`wrote ${path.relative(process.cwd(), file)}`);
  } finally {
    await server.stop();
  }
};

writeSchema().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
