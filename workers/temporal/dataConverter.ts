import type { DataConverter } from '@temporalio/common';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow';
import { PAYLOAD_CONVERTER_PATH } from './bundle';
import { LastResortCodec } from './lastResortCodec';
import type { PluggedDataConverter } from './plugs';

/**
 * Returns the data converter of a worker: the user's, and what that cannot read becomes a marker
 * instead of an error.
 */
export const workerDataConverter = (given: PluggedDataConverter | undefined): DataConverter => {
  const ours = { payloadConverterPath: PAYLOAD_CONVERTER_PATH }; // it has its own last resort
  if (given === undefined) return ours;
  const { payloadConverter, payloadCodecs } = loadDataConverter(given);
  const isOwn = given.payloadConverterPath !== undefined;
  if (!isOwn && payloadCodecs.length === 0) return { ...given, ...ours };
  const lastResort = new LastResortCodec(payloadCodecs, isOwn ? payloadConverter : null);
  return { ...ours, ...given, payloadCodecs: [lastResort] };
};
