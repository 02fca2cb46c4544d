import { z } from 'zod';

/** The content of a record: text, or bytes in base64. */
export interface RecordData {
  data: string;
  /** How `data` becomes bytes: `utf8` (default) or `base64`. */
  encoding?: 'utf8' | 'base64';
}

/**
 * Most bytes of a record that Kinesis (with its partition key) and Firehose take:
 * docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html and
 * docs.aws.amazon.com/firehose/latest/APIReference/API_PutRecordBatch.html
 */
export const RECORD_BYTES_MAX = 1_000_000;

/** The two fields of `RecordData`, for the schema of a sink's payload. */
export const dataShape = {
  data: z.string(),
  encoding: z.enum(['utf8', 'base64']).optional(),
};

export const bytesOfData = ({ data, encoding = 'utf8' }: RecordData): Uint8Array => Buffer.from(data, encoding);

export const countData = ({ data, encoding = 'utf8' }: RecordData): number => Buffer.byteLength(data, encoding);
