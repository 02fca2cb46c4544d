export type { CaseResult, Certificate } from './certify';
export { certifyHandler, CASES_MIN } from './certify';
export type * from './trial';
export { markIn, markOf } from './trial';
export type { JsonVerdict, JsonWireOptions } from './jsonWire';
export { jsonWire } from './jsonWire';
