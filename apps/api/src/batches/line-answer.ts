import type { BatchTokens, LineAnswer } from '@sluice/batches';
import {
  type BatchError,
  type ErrorCode,
  type LineEndpoint,
  type Response,
  ServiceError,
} from '@sluice/contract';
import {
  asChatError,
  chatCompletionOf,
  type EmbeddingDelivery,
  embeddingListJson,
  type MessageDelivery,
  messageErrorOf,
  messageJson,
} from '@sluice/protocols';
import type { LongTexts } from '@sluice/response-store';
import type { BodyForm, PreparedBody } from '../bodies/prepare-body.ts';
import type { Answer } from '../responses/answer.ts';
import { responseBody } from '../responses/dialect.ts';
import { longObjects } from '../responses/long-objects.ts';

const forms: Record<LineEndpoint, BodyForm> = {
  '/v1/responses': 'create',
  '/v1/chat/completions': 'chat',
  '/v1/embeddings': 'embedding',
  '/v1/messages': 'message',
};

export const formOf = (endpoint: LineEndpoint): BodyForm => forms[endpoint];

type EndedLine = Omit<LineAnswer, 'requestId' | 'forget' | 'free'>;

/** The line that is answered, and how its body asked for that. */
export interface AnsweredLine extends Pick<PreparedBody, 'embedding' | 'message'> {
  endpoint: LineEndpoint;
  requestId: string;
}

/** The answer to a line that was refused. */
export function refusedLine(
  error: ServiceError,
  line: Pick<AnsweredLine, 'endpoint' | 'requestId'>,
): LineAnswer {
  return {
    status: error.status,
    requestId: line.requestId,
    body: errorBody(error, line),
    tokens: undefined,
    isCancelled: false,
    forget: undefined,
  };
}

/** The answer to a line that cannot be read as a request, in the words of its endpoint. */
export function wrongLine(
  { code, message, param }: BatchError,
  line: Pick<AnsweredLine, 'endpoint' | 'requestId'>,
): LineAnswer {
  const known = problemCodes.find((each) => each === code) ?? 'invalid_value';
  return refusedLine(
    new ServiceError(known, message, { param: param?.replace(/^body\./, '') ?? null }),
    line,
  );
}

/** The problems of lines that are codes of errors, too. */
const problemCodes = ['unsupported_value', 'request_too_large'] as const satisfies ErrorCode[];

/** The answer to a line whose response has ended, as its endpoint would have given it. A long body is made of the answer as it is read. */
export async function answerOfLine({ response, texts }: Answer, line: AnsweredLine): Promise<EndedLine> {
  const ended = { tokens: tokensOf(response), isCancelled: response.status === 'cancelled' };
  const { error } = response;
  if (error) {
    const { code, message, param } = error;
    const failure = new ServiceError(code, message, { param });
    const body = hasOwnErrors(line) ? errorBody(failure, line) : JSON.stringify({ error });
    return { ...ended, status: failure.status, body };
  }
  if (ended.isCancelled) {
    const told = { message: 'The response was cancelled.', type: 'conflict', param: null, code: 'cancelled' };
    return { ...ended, status: 409, body: JSON.stringify({ error: told }) };
  }
  return { ...ended, status: 200, body: await bodyOf(response, texts, line) };
}

/** The body of an error, in the words of its endpoint. */
export function errorBody(
  error: ServiceError,
  { endpoint, requestId }: Pick<AnsweredLine, 'endpoint' | 'requestId'>,
): string {
  if (endpoint === '/v1/messages') return JSON.stringify(messageErrorOf(error, requestId));
  const told = endpoint === '/v1/chat/completions' ? asChatError(error) : error;
  return JSON.stringify({ error: told.toBody() });
}

/** Whether errors name members that the Responses API does not have. */
function hasOwnErrors({ endpoint }: Pick<AnsweredLine, 'endpoint'>): boolean {
  return endpoint === '/v1/messages' || endpoint === '/v1/chat/completions';
}

async function bodyOf(
  response: Response,
  texts: LongTexts | undefined,
  { endpoint, embedding = usualEmbedding, message = usualMessage }: AnsweredLine,
): Promise<EndedLine['body']> {
  const whole = (json: string) => (texts ? texts.bodyOf(json).pieces : json);
  switch (endpoint) {
    case '/v1/responses':
      return whole(responseBody({ mount: '/v1', object: 'response' }, response));
    case '/v1/chat/completions':
      return whole(JSON.stringify(chatCompletionOf(response)));
    case '/v1/messages':
      return whole(messageJson(response, message, texts && (await longObjects(response, texts))));
    case '/v1/embeddings':
      return embeddingListJson(response, embedding, texts && ((text) => texts.piecesOf(text)));
  }
}

const usualEmbedding: EmbeddingDelivery = { encoding: 'float' };
const usualMessage: MessageDelivery = { thinking: 'none' };

function tokensOf({ usage }: Response): BatchTokens | undefined {
  if (!usage) return undefined;
  return {
    input: usage.input_tokens,
    cached: usage.input_tokens_details.cached_tokens,
    output: usage.output_tokens,
    reasoning: usage.output_tokens_details.reasoning_tokens,
  };
}
