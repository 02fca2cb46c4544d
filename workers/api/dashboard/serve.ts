import type { FastifyInstance } from 'fastify';
import { readAssets } from './assets';

/** Marks what is shown to all callers: it is the same everywhere, and says nothing of any store. */
const PUBLIC = { isPublic: true } as const;

/** Serves the dashboard's files. Without them, as in a build that failed, there is no page. */
export const serveDashboard = (app: FastifyInstance): void => {
  for (const [url, { body, zipped, headers }] of readAssets())
    app.route({
      method: ['GET', 'HEAD'],
      url,
      config: PUBLIC,
      handler: (request, reply) => {
        void reply.headers(headers);
        if (request.headers['if-none-match'] === headers['etag']) return reply.code(304).send();
        const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
        return isZipped ? reply.header('content-encoding', 'gzip').send(zipped) : reply.send(body);
      },
    });
};
