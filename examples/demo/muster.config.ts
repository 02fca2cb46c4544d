import { indexCityHandler } from './handler';

export default {
  handlers: [indexCityHandler({ url: process.env['CITY_INDEX_URL'] ?? 'http://127.0.0.1:4455' })],
};
