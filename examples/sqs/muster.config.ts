import { sendMessageHandler } from './handler';

export default {
  handlers: [
    sendMessageHandler({
      region: process.env['AWS_REGION'] ?? 'us-east-1',
      endpoint: process.env['SQS_ENDPOINT'],
      onUnknown: process.env['SQS_ON_UNKNOWN'] === 'resend' ? 'resend' : 'park',
    }),
  ],
};
