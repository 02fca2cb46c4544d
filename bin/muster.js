#!/usr/bin/env node
const { existsSync } = require('node:fs');
const path = require('node:path');

const main = path.join(__dirname, '..', 'dist', 'client', 'cli', 'main.js');
if (existsSync(main)) {
  require(main);
} else {
  process.stderr.write('Error: this checkout is not built yet. Run: npm ci\n');
  process.exitCode = 1;
}
