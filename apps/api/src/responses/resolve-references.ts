import {
  type InputItem,
  inputItemId,
  openToolOutputs,
  responseIdOfItem,
  responseIdSchema,
  ServiceError,
  toolCallNotFound,
} from '@sluice/contract';
import { maxChain, type PreparedRequest, replaceReferences, type Turn } from '@sluice/response-store';
import type { ResponsesDependencies } from './dependencies.ts';

/**
 * Looks up what a request refers to: an earlier response, items of one, and the calls that its outputs answer.
 *
 * Another tenant's response, an unknown one and a deleted one are the same: not found.
 */
export class ReferenceResolver {
  readonly #dependencies: Pick<ResponsesDependencies, 'store' | 'settings'>;

  constructor(dependencies: Pick<ResponsesDependencies, 'store' | 'settings'>) {
    this.#dependencies = dependencies;
  }

  /** The request with every item reference replaced by the item. */
  async resolve(prepared: PreparedRequest, tenant: string): Promise<PreparedRequest> {
    const { previous_response_id: previousId } = prepared.request;
    const previous = previousId === undefined ? undefined : await this.#previous(previousId, tenant);
    const items = await this.#referredItems(prepared.links, tenant);
    const mentioned = prepared.links.map((link) =>
      link.type === 'item_reference' ? (items.get(link.id)?.item ?? link) : link,
    );
    await this.#checkToolOutputs(mentioned, previous);
    if (items.size === 0) return prepared;
    return { ...prepared, input: replaceReferences(prepared, (id) => items.get(id)?.json ?? 'null') };
  }

  async #previous(id: string, tenant: string): Promise<Turn> {
    const turn = await this.#turn(id, tenant);
    if (!turn?.isStored) throw previousNotFound(id);
    if (turn.status !== 'completed' && turn.status !== 'incomplete') {
      throw new ServiceError(
        'invalid_value',
        `The previous response has the status '${turn.status}'; only a completed or incomplete one can be continued.`,
        { param: 'previous_response_id' },
      );
    }
    return turn;
  }

  /** The items that an input refers to, by their ids. Several references usually lead to one response. */
  async #referredItems(
    links: PreparedRequest['links'],
    tenant: string,
  ): Promise<ReadonlyMap<string, { item: InputItem; json: string }>> {
    const turns = new Map<string, Turn | undefined>();
    const items = new Map<string, { item: InputItem; json: string }>();
    let size = 0;
    for (const link of links) {
      if (link.type !== 'item_reference') continue;
      const responseId = responseIdOfItem(link.id) ?? '';
      if (!turns.has(responseId)) turns.set(responseId, await this.#turn(responseId, tenant));
      const found = items.get(link.id) ?? printed(itemOf(turns.get(responseId), responseId, link.id));
      items.set(link.id, found);
      // A short reference can stand for a long item, and be sent many times over.
      size += found.json.length;
      if (size > this.#dependencies.settings.limits.bodyBytes) throw tooLarge();
    }
    return items;
  }

  /** Each output needs its call, in this input or anywhere before it. */
  async #checkToolOutputs(
    mentioned: Parameters<typeof openToolOutputs>[0],
    previous: Turn | undefined,
  ): Promise<void> {
    const open = openToolOutputs(mentioned);
    let turn = previous;
    for (let depth = 0; open.size > 0 && turn && depth < maxChain; depth += 1) {
      for (const item of [...turn.input, ...turn.output]) {
        if (item.type === 'function_call' || item.type === 'custom_tool_call') open.delete(item.call_id);
      }
      const { previousId, tenant } = turn;
      turn = open.size > 0 && previousId !== undefined ? await this.#turn(previousId, tenant) : undefined;
    }
    const [missing] = open;
    if (missing !== undefined) throw toolCallNotFound(missing);
  }

  async #turn(id: string, tenant: string): Promise<Turn | undefined> {
    if (!responseIdSchema.safeParse(id).success) return undefined;
    const turn = await this.#dependencies.store.readTurn(id);
    return turn?.tenant === tenant ? turn : undefined;
  }
}

function printed(item: InputItem): { item: InputItem; json: string } {
  return { item, json: JSON.stringify(item) };
}

function itemOf(turn: Turn | undefined, responseId: string, itemId: string): InputItem {
  const found = turn?.isStored
    ? (turn.output.find(({ id }) => id === itemId) ??
      turn.input.find((item, index) => inputItemId(item.type, responseId, index) === itemId))
    : undefined;
  if (found) return found;
  throw new ServiceError(
    'item_not_found',
    `Item '${itemId.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 96)}' not found. Items are not persisted when 'store' is false.`,
    { param: 'input' },
  );
}

function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The items that are referred to are too large together.', {
    param: 'input',
  });
}

function previousNotFound(id: string): ServiceError {
  const shown = id.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 96);
  return new ServiceError('previous_response_not_found', `Previous response with id '${shown}' not found.`, {
    param: 'previous_response_id',
  });
}
