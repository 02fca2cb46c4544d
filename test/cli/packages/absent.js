const Module = require('node:module');

/** Loaded before a process: the packages named in ABSENT_PACKAGES are as if they were not installed. */
const absent = process.env.ABSENT_PACKAGES.split(',');
const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, ...rest) {
  if (!absent.some((name) => request === name || request.startsWith(`${name}/`)))
    return resolve.call(this, request, ...rest);
  throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
};
