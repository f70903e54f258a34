import type { ModelSettings } from '@sluice/config';
import { type Response, responseFor, ServiceError } from '@sluice/contract';
import type { PreparedRequest } from '@sluice/response-store';
import type { Caller } from './caller.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import { behindContext, type LocalContext } from './local-context.ts';
import type { ModelDirectory } from './model-directory.ts';
import type { PendingRequest } from './pending-request.ts';
import { checkMediaUrls } from './media-urls.ts';
import { checkTokens, tierFor } from './request-limits.ts';
import { type ReferenceResolver, tokensBefore } from './resolve-references.ts';
import type { Reserve } from './stored-items.ts';

/** A request whose body is valid. */
export interface UncheckedRequest {
  pending: PendingRequest;
  /** Holds memory for what is read of earlier responses. */
  reserve: Reserve;
  /** The context that it continues from and that is not in the store. */
  context?: LocalContext | undefined;
}

/** A request with the model it asks for and everything that it refers to, but for what it continues from in the store. */
export interface CheckedRequest {
  model: ModelSettings;
  prepared: PreparedRequest;
}

/** Checks of a request that only this service can make, before it is admitted. */
export class RequestChecks {
  readonly #dependencies: ResponsesDependencies;
  readonly #references: ReferenceResolver;
  readonly #models: ModelDirectory;

  constructor(
    dependencies: ResponsesDependencies,
    { models, references }: { models: ModelDirectory; references: ReferenceResolver },
  ) {
    this.#dependencies = dependencies;
    this.#references = references;
    this.#models = models;
  }

  /** @throws {ServiceError} for the first thing that is wrong. */
  async prepare(caller: Caller, { pending, reserve, context }: UncheckedRequest): Promise<CheckedRequest> {
    const { key } = caller;
    const { model: modelId, webhook_url: url } = pending.request;
    const model = this.#models.find(modelId, key);
    if (url !== undefined) await this.#checkWebhookUrl(key.name, url);
    const taken = pending.take();
    checkMediaUrls(taken, model, this.#dependencies.settings.providers);
    let prepared = await this.#references.resolve(taken, key.name, reserve);
    if (context) {
      reserve(context.items.length);
      prepared = behindContext(prepared, context, this.#dependencies.settings.limits);
    }
    checkTokens(prepared, model, key);
    return { model, prepared };
  }

  async #checkWebhookUrl(tenant: string, url: string): Promise<void> {
    const { webhooks } = this.#dependencies;
    if (!webhooks) throw new ServiceError('webhooks_off', { param: 'webhook_url' });
    await webhooks.checkUrlOfRequest(tenant, url);
  }

  /**
   * Makes all checks of a request that is to be continued and never to run, those of the accept as well, and returns the response
   * that it would become.
   *
   * Nothing is written, and it counts against no limit of the store.
   *
   * @throws {ServiceError} for the first thing that is wrong.
   */
  async withoutRun(
    caller: Caller,
    request: UncheckedRequest,
    responseId: string,
  ): Promise<{ response: Response; prepared: PreparedRequest }> {
    const { pending } = request;
    const { prepared } = await this.prepare(caller, request);
    const { previousId } = prepared;
    if (previousId !== undefined) await tokensBefore(this.#dependencies, caller.key.name, previousId);
    const createdAt = Math.floor(this.#dependencies.now(responseId) / 1000);
    const serviceTier = tierFor(pending.request, caller.key);
    return { response: responseFor(pending.request, { id: responseId, createdAt, serviceTier }), prepared };
  }
}
