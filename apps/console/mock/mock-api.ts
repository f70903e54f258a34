import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'vite';
import type { MockRoute } from './mock-route.ts';
import { mockRoutes } from './mock-routes.ts';

/**
 * Answers the admin API while `npm run dev` serves the console, so that a page can be built before its routes are. With the URL of
 * the admin listener of a running service it is a proxy of that instead.
 */
export function mockApi(adminUrl: string | undefined): Plugin {
  return {
    name: 'mock-api',
    apply: 'serve',
    config: () =>
      adminUrl === undefined
        ? {}
        : {
            server: {
              proxy: {
                '/admin/v1': {
                  target: adminUrl,
                  changeOrigin: true,
                  // The listener refuses what comes from the page of another origin, and this is one.
                  headers: { origin: new URL(adminUrl).origin },
                },
              },
            },
          },
    configureServer: (server) => {
      if (adminUrl !== undefined) return;
      server.middlewares.use('/admin/v1', (request, response) => {
        void answer(request, response);
      });
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://mock');
  for (const route of mockRoutes) {
    const params = route.method === request.method ? matching(route, url.pathname) : undefined;
    if (params === undefined) continue;
    const body = await readBody(request);
    const given = { params, search: url.searchParams, headers: request.headers, body };
    if (route.acts && given.headers['sluice-action-token'] !== 'mock') {
      sendError(response, {
        status: 401,
        code: 'invalid_action_token',
        message: 'The action token of the mock is "mock".',
      });
      return;
    }
    if (route.live) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      const stop = route.live(given, (event, data, id) => {
        response.write(
          `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
        );
      });
      request.on('close', stop);
      return;
    }
    const answered = route.answer(given);
    if (answered === undefined) continue;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
    return;
  }
  sendError(response, {
    status: 404,
    code: 'not_found',
    message: `The mock has nothing at ${url.pathname}.`,
  });
}

function matching({ path }: MockRoute, pathname: string): Record<string, string> | undefined {
  const wanted = path.split('/');
  const given = pathname.split('/');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = decodeURIComponent(given[at] ?? '');
    if (part.startsWith(':')) params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer); // a request without an encoding
  const text = Buffer.concat(chunks).toString();
  return text === '' ? undefined : JSON.parse(text);
}

function sendError(response: ServerResponse, error: { status: number; code: string; message: string }): void {
  const { status, code, message } = error;
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { type: 'invalid_request_error', code, message, param: null } }));
}
