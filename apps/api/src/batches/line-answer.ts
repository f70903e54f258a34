import type { BatchTokens, LineAnswer } from '@sluice/batches';
import { type BatchEndpoint, errorRow, type Response, type ServiceError } from '@sluice/contract';
import { chatCompletionOf, type EmbeddingDelivery, embeddingListJson } from '@sluice/protocols';
import type { LongTexts } from '@sluice/response-store';
import type { BodyForm } from '../bodies/prepare-body.ts';
import type { Answer } from '../responses/answer.ts';
import { responseBody } from '../responses/dialect.ts';

const forms: Record<BatchEndpoint, BodyForm> = {
  '/v1/responses': 'create',
  '/v1/chat/completions': 'chat',
  '/v1/embeddings': 'embedding',
};

export const formOf = (endpoint: BatchEndpoint): BodyForm => forms[endpoint];

type EndedLine = Omit<LineAnswer, 'requestId' | 'forget'>;

/** The answer to a line that was refused. */
export function refusedLine(error: ServiceError, requestId: string): LineAnswer {
  const body = JSON.stringify({ error: error.toBody() });
  return { status: error.status, requestId, body, tokens: undefined, isCancelled: false, forget: undefined };
}

/** The answer to a line whose response has ended, as its endpoint would have given it. */
export function answerOfLine(
  { response, texts }: Answer,
  { endpoint, embedding }: { endpoint: BatchEndpoint; embedding: EmbeddingDelivery | undefined },
): EndedLine {
  const ended = { tokens: tokensOf(response), isCancelled: response.status === 'cancelled' };
  if (response.error) {
    const { error } = response;
    return { ...ended, status: errorRow(error.code).status, body: JSON.stringify({ error }) };
  }
  if (ended.isCancelled) {
    const error = {
      message: 'The response was cancelled.',
      type: 'conflict',
      param: null,
      code: 'cancelled',
    };
    return { ...ended, status: 409, body: JSON.stringify({ error }) };
  }
  return { ...ended, status: 200, body: bodyOf(response, { texts, endpoint, embedding }) };
}

function bodyOf(
  response: Response,
  {
    texts,
    endpoint,
    embedding = { encoding: 'float' },
  }: { texts: LongTexts | undefined; endpoint: BatchEndpoint; embedding: EmbeddingDelivery | undefined },
): string {
  const whole = (json: string) => (texts ? Buffer.concat(texts.piecesOf(json)).toString('utf8') : json);
  switch (endpoint) {
    case '/v1/responses':
      return whole(responseBody({ mount: '/v1', object: 'response' }, response));
    case '/v1/chat/completions':
      return whole(JSON.stringify(chatCompletionOf(response)));
    case '/v1/embeddings': {
      const pieces = embeddingListJson(response, embedding, texts && ((text) => texts.piecesOf(text)));
      return Buffer.concat([...pieces]).toString('utf8');
    }
  }
}

function tokensOf({ usage }: Response): BatchTokens | undefined {
  if (!usage) return undefined;
  return {
    input: usage.input_tokens,
    cached: usage.input_tokens_details.cached_tokens,
    output: usage.output_tokens,
    reasoning: usage.output_tokens_details.reasoning_tokens,
  };
}
