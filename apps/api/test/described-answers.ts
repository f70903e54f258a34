import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { adminMount } from '../src/admin/api/admin-mount.ts';
import { adminRoutes } from '../src/admin/api/admin-routes.ts';
import type { OpenApiDocument } from '../src/openapi/openapi-document.ts';
import type { RouteDescription } from '../src/route.ts';
import { healthRoutes, routes } from '../src/routes.ts';

const all: readonly RouteDescription[] = [
  ...routes,
  ...healthRoutes,
  ...adminRoutes.map((route) => ({ ...route, path: `${adminMount}${route.path}` })),
];
/** That it is what the routes make of it is held by `api-reference.test.ts`. */
const document = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
) as OpenApiDocument; // as it was written
let validators: Ajv2020 | undefined;

/** What a value has wrong by a schema of the document; undefined if nothing. */
function problemOf(value: unknown, schema: string): string | undefined {
  validators ??= new Ajv2020({ strict: false, validateFormats: false }).addSchema(
    { $id: 'document', ...document },
    'document',
  );
  const validate = validators.getSchema(`document#/components/schemas/${schema}`);
  if (!validate) return `no schema '${schema}'`;
  return validate(value) === true ? undefined : validators.errorsText(validate.errors);
}

export interface DescribedAnswers {
  /** Answers and events that the document does not describe, each in a few words. */
  readonly problems: string[];
  /** Looks at an event; `schema` is that of a response by default. */
  look: (event: unknown, schema?: string) => void;
  /** Passes the stream of a path on, and looks at each of its events. */
  watch: (answer: Response, path?: string) => Response;
}

/** Holds every answer of an api, and every event of the streams that are watched, against the document of the API. */
export function describedAnswers(app: FastifyInstance): DescribedAnswers {
  const problems: string[] = [];
  app.addHook('onSend', (request, reply, payload, done) => {
    const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
    const problem = isJson ? problemWith(request, reply.statusCode, payload) : undefined;
    if (problem !== undefined)
      problems.push(`${request.method} ${request.url} ${reply.statusCode}: ${problem}`);
    done(null, payload);
  });
  const look = (event: unknown, schema = 'ResponseEvent') => {
    const problem = problemOf(event, schema);
    if (problem !== undefined) problems.push(`${JSON.stringify(event).slice(0, 200)}: ${problem}`);
  };
  return {
    problems,
    look,
    watch(answer, path) {
      const schema = frameSchemas.get(path ?? '');
      if (!answer.body || !answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer;
      let text = '';
      const decoder = new TextDecoder();
      const looked = answer.body.pipeThrough(
        new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
          transform(chunk, controller) {
            text += decoder.decode(chunk, { stream: true });
            const lines = text.split('\n');
            text = lines.pop() ?? '';
            for (const line of lines) {
              if (line.startsWith('data: {')) look(JSON.parse(line.slice('data: '.length)), schema);
            }
            controller.enqueue(chunk);
          },
        }),
      );
      return new Response(looked, answer);
    },
  };
}

function problemWith(request: FastifyRequest, status: number, payload: unknown): string | undefined {
  if (typeof payload !== 'string') return undefined;
  const path = request.routeOptions.url?.replace(/^\/(api\/)?v1(?=\/)/, '');
  const route = all.find((each) => each.path === path && each.method === request.method);
  if (status >= 400 && !route?.answers.some((answer) => answer.status === status)) {
    // As one of the two protocols has it.
    const body = JSON.parse(payload) as { error: { code: string; details?: { error_code: string } } };
    const code = body.error.details?.error_code ?? body.error.code;
    const schema = isAnsweredAsMessage(request) ? 'MessageError' : 'Error';
    return route && !route.errors.some((each) => each === code)
      ? `code '${code}' is not described`
      : problemOf(body, schema);
  }
  if (!route) return undefined;
  const answer = route.answers.find((each) => each.status === status);
  const schema =
    answer && ((isAnsweredAsMessage(request) && ofAnthropic.get(route.name)) || schemaNames.get(route.name));
  return schema === undefined ? 'status is not described' : problemOf(JSON.parse(payload), schema);
}

function isAnsweredAsMessage({ url, headers }: FastifyRequest): boolean {
  const [, under] = /^\/(?:api\/)?v1\/(messages|models)(?=[/?]|$)/.exec(url) ?? [];
  return under === 'messages' || (under === 'models' && headers['anthropic-version'] !== undefined);
}

/** The schemas of answers that clients of Anthropic have in their own form. */
const ofAnthropic: ReadonlyMap<string, string> = new Map([
  ['listModels', 'MessageModelList'],
  ['getModel', 'MessageModel'],
]);

/** The schemas of frames of other protocols than the Responses API. */
const frameSchemas: ReadonlyMap<string, string> = new Map([
  ['/chat/completions', 'ChatCompletionFrame'],
  ['/messages', 'MessageFrame'],
]);

/** The schema of the JSON answer of each operation that has one. */
const schemaNames: ReadonlyMap<string, string> = new Map(
  Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation) => {
      const done = Object.entries(operation['responses'] as Record<string, object>) // as OpenAPI has it
        .filter(([status]) => status.startsWith('2'))
        .map(([, answer]) => JSON.stringify(answer));
      const isJson = done.some((answer) => answer.includes('"application/json"'));
      const found = /"application\/json":\{"schema":\{"\$ref":"#\/components\/schemas\/(\w+)"/.exec(
        done.join(),
      );
      return isJson ? [[String(operation['operationId']), found?.[1] ?? 'a name']] : [];
    }),
);
