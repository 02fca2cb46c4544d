import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { PAGES } from './callers/sites';

/**
 * Serves the document as a page to browse and try out, without fetching anything from elsewhere.
 */
export const servePages = async (app: FastifyInstance, document: object): Promise<void> => {
  await app.register(swagger, { mode: 'static', specification: { document: document as never } });
  await app.register(swaggerUi, {
    routePrefix: PAGES,
    staticCSP: true,
    uiConfig: { docExpansion: 'none', persistAuthorization: false, tryItOutEnabled: true },
    theme: { title: 'Muster API' },
  });
};
