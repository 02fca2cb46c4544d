import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/**
 * The document as a page to look around and try things in, served from here: nothing is fetched
 * from elsewhere.
 */
export const servePages = async (app: FastifyInstance, document: object): Promise<void> => {
  await app.register(swagger, { mode: 'static', specification: { document: document as never } });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    uiConfig: { docExpansion: 'none', persistAuthorization: false, tryItOutEnabled: true },
    theme: { title: 'Muster API' },
  });
};
