/** What swc makes of TypeScript, for jest and for what Node loads beside it. */
module.exports = { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } };
