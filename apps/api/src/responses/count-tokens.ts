import type { KeySettings } from '@sluice/config';
import { type ErrorCode, ServiceError } from '@sluice/contract';
import type { PreparedRequest } from '@sluice/response-store';
import type { TokenCount } from '../tokens/count-prompt.ts';
import type { Encoding } from '../tokens/tokenizer.ts';
import { encodingOf } from '../tokens/encoding-of-model.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import type { ModelDirectory } from './model-directory.ts';
import type { PendingRequest } from './pending-request.ts';
import { type ReferenceResolver, tokensBefore } from './resolve-references.ts';
import type { Reserve } from './stored-items.ts';

export interface CountedTokens {
  tokens: number;
  /** `tokenizer`: every text was counted with the tokenizer of the model. */
  method: 'tokenizer' | 'estimate';
}

/**
 * Counts the tokens that a model would be given, without a queue and without a call.
 *
 * The response that the request continues from is not read: its record knows how many tokens its upstream counted. These
 * include earlier instructions, so the sum is an estimate then.
 */
export class TokenCounter {
  readonly #dependencies: Pick<ResponsesDependencies, 'store' | 'json' | 'settings'>;
  readonly #models: ModelDirectory;
  readonly #references: ReferenceResolver;

  constructor(
    dependencies: Pick<ResponsesDependencies, 'store' | 'json' | 'settings'>,
    parts: { models: ModelDirectory; references: ReferenceResolver },
  ) {
    this.#dependencies = dependencies;
    this.#models = parts.models;
    this.#references = parts.references;
  }

  /** `reserve` holds memory for what is read of earlier responses. */
  async count(key: KeySettings, pending: PendingRequest, reserve: Reserve): Promise<CountedTokens> {
    const { request } = pending;
    const model = request.model === '' ? undefined : this.#models.find(request.model, key);
    const { previous_response_id: previousId } = request;
    const before =
      previousId === undefined ? 0 : await tokensBefore(this.#dependencies, key.name, previousId);
    const prepared = await this.#references.resolve(pending.take(), key.name, reserve);
    const encoding = model && encodingOf(model);
    if (encoding === undefined) return { tokens: before + prepared.inputTokens, method: 'estimate' };
    const counted = await this.#withTokenizer(key.name, prepared, encoding);
    return {
      tokens: before + counted.tokens,
      method: counted.isCounted && before === 0 ? 'tokenizer' : 'estimate',
    };
  }

  /** A prompt that no thread could count, because it was too large for one or the machine too busy, is estimated. */
  async #withTokenizer(
    tenant: string,
    { request, input, inputTokens }: PreparedRequest,
    encoding: Encoding,
  ): Promise<TokenCount> {
    const { instructions, tools } = request;
    const prompt = { input: transferable(input), instructions, tools, encoding };
    try {
      return await this.#dependencies.json.countTokens(tenant, prompt);
    } catch (error) {
      const isUncounted = error instanceof ServiceError && uncounted.has(error.code);
      if (!isUncounted) throw error;
      return { tokens: inputTokens, isCounted: false };
    }
  }
}

/** Errors by which a thread refuses a task for reasons of its own. */
const uncounted: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['server_is_overloaded', 'request_too_large']);

/** Bytes of a small buffer may share their memory with others, and would take it with them. */
function transferable(input: string | Uint8Array): string | Uint8Array<ArrayBuffer> {
  if (typeof input === 'string') return input;
  const { buffer } = input;
  const isAlone = buffer instanceof ArrayBuffer && input.byteLength > Buffer.poolSize;
  // The check above is what the type says.
  return isAlone ? (input as Uint8Array<ArrayBuffer>) : new Uint8Array(input);
}
