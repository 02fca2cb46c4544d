import { isUuid } from '../../../workflows/planning/uuid';

const ONE = '018f6b2c-7d3e-7c11-9a55-0123456789ab';

test.each([ONE, ONE.toUpperCase()])('%s is a UUID', (text) => expect(isUuid(text)).toBe(true));

test.each([[[ONE]], [` ${ONE}`], [`${ONE}0`], [ONE.replaceAll('-', '')], [ONE.replace('8', 'g')], [''], [null]])(
  '%j is none',
  (value) => expect(isUuid(value)).toBe(false),
);
