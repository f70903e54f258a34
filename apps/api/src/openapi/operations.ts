import { type ErrorCode, errorEnvelopeSchema, errorRow } from '@sluice/contract';
import { z } from 'zod';
import type { Answer, RouteDescription } from '../route.ts';
import type { Json } from './json.ts';
import { plain, schemaOf } from './named-schemas.ts';

/** The path as OpenAPI writes it. What `*` stands for is the id of a model, which may contain slashes. */
export function pathOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{model}');
}

/** A route as an operation of the document. */
export function operationOf({
  name,
  summary,
  params,
  query,
  headers,
  body,
  form,
  answers,
  errors,
  protocol,
}: RouteDescription): Json {
  return {
    operationId: name,
    summary,
    parameters: [
      ...parametersOf('path', params),
      ...parametersOf('query', query),
      ...parametersOf('header', headers),
    ],
    ...(form && { requestBody: formOf(form.schema) }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaOf(body.schema, 'input'), example: body.example } },
      },
    }),
    responses: { ...answersOf(answers), ...errorsOf(errors, protocol?.errorSchema ?? errorEnvelopeSchema) },
  };
}

function formOf(schema: z.ZodType): Json {
  const { properties, required = [], ...rest } = z.toJSONSchema(schema, { io: 'input' });
  const file = { type: 'string', format: 'binary' };
  const parts = plain({ ...rest, properties: { ...properties, file }, required: [...required, 'file'] });
  return { required: true, content: { 'multipart/form-data': { schema: parts } } };
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
function errorsOf(errors: readonly ErrorCode[], schema: z.ZodType): Json {
  const content = { 'application/json': { schema: schemaOf(schema, 'output') } };
  const codes = Map.groupBy(errors, (code) => errorRow(code).status);
  return Object.fromEntries(
    [...codes].map(([status, each]) => [
      status,
      {
        description: `\`${each.join('`, `')}\``,
        ...(mayWait(status) && { headers: retryAfter }),
        content,
      },
    ]),
  );
}

/** A wrong key may have been sent too often. */
const mayWait = (status: number) => status === 401 || status === 429 || status === 503;
const retryAfter = {
  'Retry-After': {
    description: 'Seconds to wait; absent if waiting is no use.',
    schema: { type: 'integer' },
  },
};
