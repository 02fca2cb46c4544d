import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from '../project/project';

/** A program in a separate folder. */
export interface Build {
  folder: string;
  bin: string;
}

/** Makes a release up: the build of a checkout, by default this one, with migrations more. */
export const makeBuild = (migrations: Readonly<Record<string, string>>, root = ROOT): Build => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-build-'));
  for (const part of [
    'bin',
    'package.json',
    'dist/activities',
    'dist/client',
    'dist/handlers',
    'dist/postgres',
    'dist/workers',
    'dist/workflows',
  ])
    cpSync(path.join(root, part), path.join(folder, part), { recursive: true, verbatimSymlinks: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  mkdirSync(path.join(folder, 'dist', 'postgres', 'migrations'), { recursive: true });
  for (const [name, sql] of Object.entries(migrations))
    writeFileSync(path.join(folder, 'dist', 'postgres', 'migrations', `${name}.sql`), sql);
  return { folder, bin: path.join(folder, 'bin', 'muster.js') };
};

/** The expanding half of a change, on tables that every batch goes through. */
export const EXPAND = `-- Up Migration
alter table task add column made_up text;
alter table handler add column made_up int not null default 7;
alter table batch add column made_up int;
create index task_made_up on task (made_up) where made_up is not null;
create table made_up (id int primary key, task text not null);
-- Down Migration
drop table made_up;
alter table batch drop column made_up;
alter table handler drop column made_up;
alter table task drop column made_up;
`;

/** A contracting half: it removes what programs that know the expanding one need no longer. */
export const CONTRACT = `-- Up Migration
drop table made_up;
alter table handler drop column made_up;
`;
