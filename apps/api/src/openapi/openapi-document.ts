import { actionTokenHeader } from '../admin/api/action-token.ts';
import { adminMount } from '../admin/api/admin-mount.ts';
import type { AdminRoute } from '../admin/api/admin-route.ts';
import { adminRoutes } from '../admin/api/admin-routes.ts';
import { dialects } from '../responses/dialect.ts';
import type { RouteDescription } from '../route.ts';
import { healthRoutes, routes } from '../routes.ts';
import type { Json } from './json.ts';
import {
  adminAnswerSchemas,
  adminRequestSchemas,
  answerSchemas,
  componentsOf,
  requestSchemas,
} from './named-schemas.ts';
import { operationOf, pathOf } from './operations.ts';

/** An OpenAPI 3.1 document, as far as this service looks into it. */
export interface OpenApiDocument extends Json {
  openapi: string;
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json> } & Json;
}

/**
 * Describes every route of the service, made from the tables of routes and the schemas of the contract. The same each time, so
 * that a change of the wire shows in a diff.
 *
 * Paths of the admin API are whole, because some of them are also paths of the API. Without them it is what the API serves: its
 * page cannot try what another listener answers, and clients that are made from it have no use for that.
 */
export function openApiDocument({ withAdmin = true }: { withAdmin?: boolean } = {}): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  // The first is where a page to try the API begins: the one that clients of the standard use.
  const mounts = dialects.toReversed().map(({ mount, object }) => ({
    url: mount,
    description: `Responses carry the object '${object}'.`,
  }));
  for (const route of routes) add(paths, route, { tags: [tagOf(route)] });
  for (const route of healthRoutes)
    add(paths, route, { tags: ['health'], servers: [{ url: '/' }], security: [] });
  const admin = withAdmin ? adminRoutes : [];
  for (const route of admin) {
    add(paths, { ...route, path: `${adminMount}${route.path}` }, adminFacts(route));
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sluice',
      version: '1',
      summary: 'A Responses API with a queue in front of the models.',
      description:
        'Members that a request may leave out may also be `null`. Members that nobody here knows are ignored. ' +
        'Every answer carries `x-request-id`, and one that is about a response, if only its error, `x-sluice-response-id`. ' +
        'A WebSocket at `/responses` takes the members of `CreateResponse` beside `type: "response.create"`, and sends the JSON ' +
        'of each `ResponseEvent` as a frame.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: mounts,
    security: [{ key: [] }],
    ...(withAdmin && { tags: [adminTag] }),
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A key of a tenant.' },
        ...(withAdmin && adminSecurity),
      },
      schemas: {
        ...componentsOf({ ...requestSchemas, ...(withAdmin && adminRequestSchemas) }, 'input'),
        ...componentsOf({ ...answerSchemas, ...(withAdmin && adminAnswerSchemas) }, 'output'),
      },
    },
  };
}

function add(paths: OpenApiDocument['paths'], route: RouteDescription, more: Json): void {
  const path = pathOf(route.path);
  paths[path] = { ...paths[path], [route.method.toLowerCase()]: { ...operationOf(route), ...more } };
}

/** Groups the operations of a page: the first word of their path. */
function tagOf({ path }: RouteDescription): string {
  return path.split('/')[1] ?? '';
}

const adminTag = {
  name: 'admin',
  description:
    'The API for operators, on a listener of its own. Every client of that listener may read. A request that changes something, or ' +
    'shows the input or output of a response, needs the action token and is written to the audit log. Below ' +
    `\`${adminMount}/playground/v1\` the listener passes \`/responses\` and \`/models\` of the API on, with the key of the header ` +
    '`sluice-api-key`. Times are Unix milliseconds of the store.',
};

const adminSecurity = {
  adminBearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The admin token; none is needed without one.',
  },
  adminBasic: { type: 'http', scheme: 'basic', description: 'The admin token, as the password.' },
  actionToken: { type: 'apiKey', in: 'header', name: actionTokenHeader, description: 'The action token.' },
};

/** Where an operation of the admin API is, and what it needs. A listener on loopback may have no admin token. */
function adminFacts({ acts }: AdminRoute): Json {
  const action = acts ? { actionToken: [] } : {};
  return {
    tags: [adminTag.name],
    servers: [
      {
        url: 'http://{admin}',
        description: 'The admin listener.',
        variables: { admin: { default: '127.0.0.1:3001', description: 'Its host and port.' } },
      },
    ],
    security: [{ adminBearer: [], ...action }, { adminBasic: [], ...action }, action],
  };
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(openApiDocument(), undefined, 2)}\n`);
