import type { UIMessageChunk } from 'ai';
import type { ChatStorage } from './chat-storage.ts';

/** The response that a chat waits for, as it is kept while that runs. */
export interface Pending {
  responseId: string;
  /** The message that the response goes on with; absent if it is a new one. */
  messageId?: string;
  /** The parts that the message had before. */
  before?: UIMessageChunk[];
}

interface KeptChat {
  storage: ChatStorage;
  chatId: string;
}

/**
 * The responses that could not be read to their ends, by their chats. Each of these chats shows a part of an answer and an error. An
 * entry lasts until its response is read to its end, or is followed by another. A page that is loaded again begins without any.
 */
export const interrupted = new Map<string, Pending>();

/** Keeps the response that a chat has begun with, in place of any earlier one. Never rejects. */
export async function keep({ storage, chatId }: KeptChat, pending: Pending): Promise<void> {
  interrupted.delete(chatId);
  // Without it the response is read to its end all the same, unless the page is loaded again.
  await asFarAsPossible(() => storage.set(chatId, JSON.stringify(pending)));
}

/** Forgets what is kept of a chat, unless it is another response by now. Never rejects. */
export function forget({ storage, chatId }: KeptChat, responseId: string): Promise<void> {
  if (interrupted.get(chatId)?.responseId === responseId) interrupted.delete(chatId);
  return asFarAsPossible(async () => {
    const kept = pendingIn(await storage.get(chatId));
    if (!kept || kept.responseId === responseId) await storage.delete(chatId);
  });
}

/** A storage that fails is no failure of a chat. */
async function asFarAsPossible(act: () => void | Promise<void>): Promise<void> {
  try {
    await act();
  } catch {
    // The response goes on.
  }
}

/** The response that was kept, unless somebody else has written there. */
export function pendingIn(kept: string | undefined): Pending | undefined {
  if (kept === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(kept);
    const isPending =
      typeof value === 'object' &&
      value !== null &&
      'responseId' in value &&
      typeof value.responseId === 'string';
    return isPending ? (value as Pending) : undefined; // as it was written above
  } catch {
    return undefined;
  }
}
