import {
  newCompactionId,
  newItemId,
  outputText,
  type Response,
  ServiceError,
  type Usage,
} from '@sluice/contract';
import type { ItemPart, PickedItem } from '@sluice/response-store';
import { randomBytes } from '@sluice/runtime';
import { addedItems } from '../bodies/compaction-request.ts';
import type { Caller } from './caller.ts';
import type { ResponseCreator } from './create-response.ts';
import type { Creation } from './creation.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import { contextTooLarge, previousNotFound } from './resolve-references.ts';

/** Longest summary, in characters: sealing it takes the event loop some milliseconds. No model of today writes as much. */
const longestSummary = 1024 * 1024;

/** A compacted conversation. */
export interface Compaction {
  id: string;
  /** Unix seconds. */
  createdAt: number;
  /** The user's messages, oldest first. */
  messages: PickedItem[];
  /** The item that stands for all the rest. */
  item: { type: 'compaction'; id: string; encrypted_content: string };
  usage: Usage;
}

/**
 * Compacts conversations: a model sums up all but the user's messages, and the summary is sealed for the tenant.
 *
 * The call of the model is a response like any other, queued, limited, retried and cancelled with its caller, but not stored.
 * Its input is read again when it has ended: nothing holds it while its caller waits.
 */
export class Compactor {
  readonly #dependencies: ResponsesDependencies;
  readonly #create: ResponseCreator;

  constructor(dependencies: ResponsesDependencies, create: ResponseCreator) {
    this.#dependencies = dependencies;
    this.#create = create;
  }

  /** Undefined when the caller has left. */
  async compact(
    caller: Caller,
    creation: Omit<Creation, 'idempotencyKey' | 'onWhole'>,
  ): Promise<Compaction | undefined> {
    let compaction: Compaction | undefined;
    await this.#create.whole(caller, {
      ...creation,
      idempotencyKey: undefined,
      onWhole: async ({ response, texts, free }) => {
        const whole = texts ? { ...response, output: texts.filled(response.output) } : response;
        free();
        compaction = await this.#compactionOf(caller, whole);
      },
    });
    return compaction;
  }

  async #compactionOf(caller: Caller, response: Response): Promise<Compaction> {
    const { id: responseId, usage } = response;
    const summary = outputText(response.output);
    if (response.status !== 'completed' || summary.trim() === '' || !usage) throw unfinished();
    const sealer = this.#dependencies.sealerOf(caller.key.name);
    const sealed = summary.length > longestSummary ? undefined : sealer.sealCompaction(summary);
    if (sealed === undefined) {
      const message = 'The summary of the model is too long.';
      throw new ServiceError('invalid_model_output', message, { shouldRetry: false });
    }
    return {
      id: newCompactionId(randomBytes),
      createdAt: response.created_at,
      messages: await this.#userMessages(caller, response),
      item: {
        type: 'compaction',
        id: newItemId('compaction', responseId, randomBytes),
        encrypted_content: sealed,
      },
      usage,
    };
  }

  async #userMessages(
    caller: Caller,
    { id: responseId, previous_response_id: previousId }: Response,
  ): Promise<PickedItem[]> {
    const { store, settings } = this.#dependencies;
    const { contextBytes, contextTurns } = settings.limits;
    const response = { responseId, previousId: previousId ?? undefined, tenant: caller.key.name };
    const found = await store.locateContextInputs(response, { bytes: contextBytes, turns: contextTurns });
    if (found.kind === 'broken') throw previousNotFound(found.missingId);
    if (found.kind === 'too_large') throw contextTooLarge(contextBytes);
    const { earlier, own } = found;
    const free = await caller.hold([...earlier, own].reduce((sum, { bytes }) => sum + bytes, 0));
    try {
      const messages: PickedItem[] = [];
      for (const part of earlier) messages.push(...(await this.#pick(caller, part, 0)));
      messages.push(...(await this.#pick(caller, own, addedItems)));
      return messages;
    } finally {
      free();
    }
  }

  async #pick({ key }: Caller, part: ItemPart, without: number): Promise<PickedItem[]> {
    const { store, json } = this.#dependencies;
    const { responseId } = part.turn;
    const read = await store.readItemPart(part);
    if (read === undefined) throw previousNotFound(responseId);
    return json.pickUserMessages(key.name, { responseId, isInput: true, json: read }, without);
  }
}

/** A summary that breaks off would lose the end of the conversation, which matters most. */
function unfinished(): ServiceError {
  const message = 'The model did not finish a summary of the conversation.';
  return new ServiceError('model_error', message, { shouldRetry: false });
}
