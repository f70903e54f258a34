import {
  compactionSchema,
  compactResponseSchema,
  countInputTokensSchema,
  createResponseSchema,
  deletedResponseSchema,
  errorEnvelopeSchema,
  type ErrorCode,
  errorRow,
  eventBatchSchema,
  eventPageSchema,
  eventSchema,
  inputItemListSchema,
  inputItemSchema,
  inputTokensSchema,
  listedItemSchema,
  livenessSchema,
  modelListSchema,
  modelSchema,
  outputItemSchema,
  readinessSchema,
  responseBodySchema,
  responseListSchema,
  usageSchema,
} from '@sluice/contract';
import { z } from 'zod';
import { dialects } from '../responses/dialect.ts';
import type { Answer, RouteDescription } from '../route.ts';
import { healthRoutes, routes } from '../routes.ts';

/** A JSON value that is written as it is. */
type Json = Record<string, unknown>;

/** An OpenAPI 3.1 document, as far as this service looks into it. */
export interface OpenApiDocument extends Json {
  openapi: string;
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json> } & Json;
}

/** Schemas with names of their own; wherever one is part of another, the document refers to it. */
const requestSchemas = {
  CreateResponse: createResponseSchema,
  CountInputTokens: countInputTokensSchema,
  CompactResponse: compactResponseSchema,
  InputItem: inputItemSchema,
};
const answerSchemas = {
  Response: responseBodySchema,
  OutputItem: outputItemSchema,
  Usage: usageSchema,
  ResponseEvent: eventSchema,
  EventPage: eventPageSchema,
  EventBatch: eventBatchSchema,
  ResponseList: responseListSchema,
  ListedItem: listedItemSchema,
  InputItemList: inputItemListSchema,
  InputTokens: inputTokensSchema,
  Compaction: compactionSchema,
  DeletedResponse: deletedResponseSchema,
  Model: modelSchema,
  ModelList: modelListSchema,
  Liveness: livenessSchema,
  Readiness: readinessSchema,
  Error: errorEnvelopeSchema,
} satisfies Record<string, z.ZodType>;

/**
 * Describes every route of the service, made from the table of routes and the schemas of the contract. The same each time, so
 * that a change of the wire shows in a diff.
 */
export function openApiDocument(): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  const mounts = dialects.map(({ mount, object }) => ({
    url: mount,
    description: `Responses carry the object '${object}'.`,
  }));
  for (const route of routes) add(paths, route, { tags: [tagOf(route)] });
  for (const route of healthRoutes)
    add(paths, route, { tags: ['health'], servers: [{ url: '/' }], security: [] });
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sluice',
      version: '1',
      summary: 'A Responses API with a queue in front of the models.',
      description:
        'Members that a request may leave out may also be `null`. Members that nobody here knows are ignored. ' +
        'Every answer carries `x-request-id`. ' +
        'A WebSocket at `/responses` takes the members of `CreateResponse` beside `type: "response.create"`, and sends the JSON ' +
        'of each `ResponseEvent` as a frame.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: mounts,
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'A key of a tenant.' } },
      schemas: {
        ...componentsOf(requestSchemas, 'input'),
        ...componentsOf(answerSchemas, 'output'),
      },
    },
  };
}

function componentsOf(schemas: Record<string, z.ZodType>, io: 'input' | 'output'): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, {
    io,
    uri: (id) => `#/components/schemas/${id}`,
    // A later release may add members, which is no break.
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return Object.fromEntries(Object.entries(made.schemas).map(([id, schema]) => [id, plain(schema)]));
}

/** Without what only a document of its own needs. */
function plain({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema;
}

function add(paths: OpenApiDocument['paths'], route: RouteDescription, more: Json): void {
  const path = pathOf(route.path);
  paths[path] = { ...paths[path], [route.method.toLowerCase()]: { ...operationOf(route), ...more } };
}

/** Groups the operations of a page: the first word of their path. */
function tagOf({ path }: RouteDescription): string {
  return path.split('/')[1] ?? '';
}

/** The path as OpenAPI writes it. What `*` stands for is the id of a model, which may contain slashes. */
export function pathOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{model}');
}

function operationOf({
  name,
  summary,
  params,
  query,
  headers,
  body,
  answers,
  errors,
}: RouteDescription): Json {
  return {
    operationId: name,
    summary,
    parameters: [
      ...parametersOf('path', params),
      ...parametersOf('query', query),
      ...parametersOf('header', headers),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaOf(body.schema, 'input'), example: body.example } },
      },
    }),
    responses: { ...answersOf(answers), ...errorsOf(errors) },
  };
}

function parametersOf(where: 'path' | 'query' | 'header', part: z.ZodType | undefined): Json[] {
  if (!part) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(part, { io: 'input' });
  return Object.entries(properties).map(([name, schema]) => ({
    name: name === '*' ? 'model' : name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema,
  }));
}

function answersOf(answers: readonly Answer[]): Json {
  const responses: Record<string, { description: string; headers?: Json; content?: Json }> = {};
  for (const answer of answers) {
    const { status, content, description = status === 200 ? 'Done.' : 'Not ready.' } = answer;
    const known = responses[status];
    const headers = { ...known?.headers, ...headersOf(answer) };
    const bodies = {
      ...known?.content,
      ...(content && { [content.mediaType]: { schema: schemaOf(content.schema, 'output') } }),
    };
    responses[status] = {
      description,
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(Object.keys(bodies).length > 0 && { content: bodies }),
    };
  }
  return responses;
}

function headersOf({ headers = {} }: Answer): Json {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  );
}

/** Each status with its codes. A client tells errors apart by `code`. */
function errorsOf(errors: readonly ErrorCode[]): Json {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  const codes = Map.groupBy(errors, (code) => errorRow(code).status);
  return Object.fromEntries(
    [...codes].map(([status, each]) => [
      status,
      {
        description: `\`${each.join('`, `')}\``,
        ...(isToRepeat(status) && { headers: retryAfter }),
        content,
      },
    ]),
  );
}

const isToRepeat = (status: number) => status === 429 || status === 503;
const retryAfter = {
  'Retry-After': {
    description: 'Seconds to wait; absent if waiting is no use.',
    schema: { type: 'integer' },
  },
};

/** A reference to a schema with a name, or the schema itself. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const named = Object.entries(io === 'input' ? requestSchemas : answerSchemas);
  const name = named.find(([, each]) => each === schema)?.[0];
  return name === undefined
    ? plain(z.toJSONSchema(schema, { io }))
    : { $ref: `#/components/schemas/${name}` };
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(openApiDocument(), undefined, 2)}\n`);
