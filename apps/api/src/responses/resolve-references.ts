import type { Settings } from '@sluice/config';
import { ServiceError, type Status, tokensOfBytes, toolCallNotFound } from '@sluice/contract';
import {
  type PickedItem,
  type PreparedRequest,
  type ReferenceProblem,
  replaceIn,
  type Replacement,
} from '@sluice/response-store';
import type { ResponsesDependencies } from './dependencies.ts';
import { InputFiles } from './input-files.ts';
import type { Reserve, StoredItems } from './stored-items.ts';

const noItems: ReadonlyMap<string, PickedItem> = new Map();

/**
 * Looks up the earlier items and the files that a request refers to. What it continues from is checked by its accept; `unresolved` says
 * what is told of that.
 *
 * Another tenant's response, an unknown one and a deleted one are the same: not found.
 */
export class ReferenceResolver {
  readonly #dependencies: Pick<ResponsesDependencies, 'settings' | 'live'>;
  readonly #items: StoredItems;
  readonly #files: InputFiles;

  constructor(dependencies: Pick<ResponsesDependencies, 'settings' | 'live' | 'files'>, items: StoredItems) {
    this.#dependencies = dependencies;
    this.#items = items;
    const { files, live } = dependencies;
    this.#files = new InputFiles({ files, mostBytes: () => live.limits.bodyBytes });
  }

  /** The request with items and contents of files in the place of references to them. `reserve` holds memory for what is read. */
  async resolve(prepared: PreparedRequest, tenant: string, reserve: Reserve): Promise<PreparedRequest> {
    const { files, ...rest } = prepared;
    const references = prepared.links.filter((link) => link.type === 'item_reference');
    if (references.length === 0 && !files) return prepared;
    const ids = references.map(({ id }) => id);
    const items = ids.length === 0 ? noItems : await this.#itemsOf(tenant, ids, reserve);
    const contents = files ? await this.#files.partsOf(tenant, files, reserve) : [];
    const referredBytes = [...items.values()].reduce((sum, { json }) => sum + json.length, 0);
    const replacements: Replacement[] = [
      ...references.map(({ id, start, end }) => ({ start, end, json: items.get(id)?.json ?? 'null' })),
      ...(files ?? []).map(({ start, end }, at) => ({ start, end, json: contents[at] ?? 'null' })),
    ];
    return {
      ...rest,
      inputTokens: prepared.inputTokens + tokensOfBytes(referredBytes),
      input: replaceIn(prepared.input, replacements),
      links: prepared.links.flatMap((link) => {
        if (link.type !== 'item_reference') return [link];
        return items.get(link.id)?.link ?? [];
      }),
    };
  }

  async #itemsOf(
    tenant: string,
    itemIds: readonly string[],
    reserve: Reserve,
  ): Promise<Map<string, PickedItem>> {
    const { settings, live } = this.#dependencies;
    const { contextTurns } = settings.limits;
    const limits = { bytes: live.limits.bodyBytes, responses: contextTurns };
    const found = await this.#items.find(tenant, itemIds, { limits, reserve });
    switch (found.kind) {
      case 'found':
        return found.items;
      case 'not_found':
        throw new ServiceError(
          'item_not_found',
          `Item '${shown(found.itemId)}' not found. Items are not persisted when 'store' is false.`,
          { param: 'input' },
        );
      case 'too_large':
        throw new ServiceError(
          'request_too_large',
          'The items that are referred to are too large together.',
          {
            param: 'input',
          },
        );
      case 'too_many_responses':
        throw new ServiceError(
          'array_above_max_length',
          `The items that are referred to belong to more than ${contextTurns} responses.`,
          { param: 'input' },
        );
    }
  }
}

/**
 * About how many tokens a response and all before it are. It reads a few facts of one record and no content.
 *
 * @throws {ServiceError} when the tenant may not continue from it, as the accept would.
 */
export async function tokensBefore(
  { store, settings }: Pick<ResponsesDependencies, 'store' | 'settings'>,
  tenant: string,
  previousId: string,
): Promise<number> {
  const found = await store.earlierTokens(tenant, previousId);
  if (found.kind === 'found') return found.tokens;
  throw unresolved(found, previousId, settings.limits);
}

/** The error for a request that refers to something that it may not continue from. */
export function unresolved(
  problem: ReferenceProblem,
  previousId: string,
  { contextBytes, contextTurns }: Pick<Settings['limits'], 'contextBytes' | 'contextTurns'>,
): ServiceError {
  const param = 'previous_response_id';
  switch (problem.kind) {
    case 'previous_not_found':
      return previousNotFound(previousId);
    case 'previous_not_finished':
      return previousNotFinished(problem.status);
    case 'context_too_large':
      return contextTooLarge(contextBytes);
    case 'context_too_long':
      return new ServiceError(
        'context_length_exceeded',
        `The previous response and all before it are more than ${contextTurns}. Send the input that matters without it.`,
        { param },
      );
    case 'too_many_input_tokens':
      return new ServiceError(
        'context_length_exceeded',
        `The input with the previous response and all before it has about ${problem.tokens} tokens, which is more than this model's context holds.`,
        { param },
      );
    case 'call_not_found':
      return toolCallNotFound(problem.callId, { isForgotten: problem.isForgotten });
  }
}

export function previousNotFound(previousId: string): ServiceError {
  return new ServiceError(
    'previous_response_not_found',
    `Previous response with id '${shown(previousId)}' not found.`,
    { param: 'previous_response_id' },
  );
}

export function previousNotFinished(status: Status): ServiceError {
  return new ServiceError(
    'invalid_value',
    `The previous response has the status '${status}'; only a completed or incomplete one can be continued.`,
    { param: 'previous_response_id' },
  );
}

export function contextTooLarge(contextBytes: number): ServiceError {
  return new ServiceError(
    'context_length_exceeded',
    `The previous response and all before it hold more than ${contextBytes} bytes. Send the input that matters without it.`,
    { param: 'previous_response_id' },
  );
}

/** A client's own word in an error message, short and without line breaks. */
function shown(id: string): string {
  return id.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 96);
}
