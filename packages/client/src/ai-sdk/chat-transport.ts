import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { Client } from '../client.ts';
import { isLastEvent, type ResponseEvent } from '../events.ts';
import { type CreateRequest, isTerminal, type RequestSettings, type ResponseObject } from '../response.ts';
import { type ChatStorage, pageStorage } from './chat-storage.ts';
import { chunksOf, inputOf } from './input-of.ts';
import { forget, interrupted, keep, type Pending, pendingIn } from './pending.ts';
import { asDisconnect, hasNoEvents, isGone } from './reading-failures.ts';
import { Reading } from './reading.ts';
import { type Resumption, Resumptions } from './resumptions.ts';
import { UiChunks } from './ui-chunks.ts';

type SendOptions<Message extends UIMessage> = Parameters<ChatTransport<Message>['sendMessages']>[0];

export interface ChatTransportOptions<Message extends UIMessage = UIMessage> {
  client: Pick<Client, 'stream' | 'follow' | 'retrieve' | 'cancel'>;
  /** What each request asks for besides the conversation: the model, its instructions, its tools. */
  request: RequestSettings;
  /** Makes a request of what is sent. Default: `request`, the members of `body`, and the whole conversation as its input. */
  prepareRequest?: (options: SendOptions<Message>) => CreateRequest | Promise<CreateRequest>;
  /** Default: that of the page. */
  storage?: ChatStorage;
}

/** How long a response whose chat is stopped before its first event may take to tell its id, in milliseconds. */
const idWithinMs = 10_000;

/**
 * Connects `useChat` of the AI SDK to a service, without a server of its own in between.
 *
 * Responses run in the background, so one survives a page that is loaded again: its id is kept from its first event until its
 * last chunk was read, and `resume: true` reads it from its beginning, or as a whole once its events have expired. A chat that is
 * stopped cancels its response, as soon as the id is known: a component that is unmounted stops a chat that it has made itself. A
 * page that is left does not, and neither does a chat that is resumed once more, which ends the reading before, unless there was
 * nothing to resume.
 */
export function createChatTransport<Message extends UIMessage = UIMessage>({
  client,
  request,
  prepareRequest = ({ messages, body }) => ({ ...request, ...body, input: inputOf(messages) }),
  storage = pageStorage(),
}: ChatTransportOptions<Message>): ChatTransport<Message> {
  return {
    resumeStreamIsReplay: true,
    async sendMessages(options) {
      const { chatId, messages, messageId, trigger, abortSignal } = options;
      const asked = await prepareRequest(options);
      abortSignal?.throwIfAborted();
      const reading = new Reading();
      const events = client.stream({ ...asked, background: true }, { signal: reading.signal });
      const first = await firstUnlessStopped(client, events, { reading, stopped: abortSignal });
      reading.endWith(abortSignal);
      // An output that comes late may belong to an earlier message.
      const last = messages.find(({ id }) => id === messageId) ?? messages.at(-1);
      const goesOn = trigger === 'submit-message' && last?.role === 'assistant';
      const responseId = first.response.id;
      const pending: Pending = {
        responseId,
        ...(goesOn && { messageId: last.id, before: chunksOf(last) }),
      };
      const shown = { client, storage, chatId, since: resumptions.begun };
      await keep(shown, pending);
      return show(shown, pending, events, { first, reading, isReplay: false });
    },
    async reconnectToStream({ chatId, abortSignal }) {
      const resumption = resumptions.begin(chatId);
      const shown = { client, storage, chatId, since: resumption.number, resumption };
      let stream: ReadableStream<UIMessageChunk> | undefined;
      try {
        stream = await resume(client, shown, abortSignal);
        return stream ?? null;
      } finally {
        if (!stream) resumptions.end(resumption);
      }
    },
  };
}

/** Reads the response that a chat waits for, if there is one. */
async function resume(
  client: Pick<Client, 'follow' | 'retrieve'>,
  shown: ShownChat & { resumption: Resumption },
  stopped: AbortSignal | undefined,
): Promise<ReadableStream<UIMessageChunk> | undefined> {
  const shownInPart = interrupted.get(shown.chatId);
  const pending = shownInPart ?? pendingIn(await shown.storage.get(shown.chatId));
  if (!pending) return undefined;
  shown.resumption.responseId = pending.responseId;
  const reading = new Reading();
  reading.endWith(stopped);
  try {
    return await replay(client, shown, { pending, reading });
  } catch (error) {
    if (stopped?.aborted) stopChat(shown, pending.responseId);
    if (!isGone(error)) throw error;
    // With nothing to resume, the part that the chat shows would pass for the whole answer.
    if (shownInPart) return showGone(shown, pending, { error, reading });
    await forget(shown, pending.responseId);
    return undefined;
  }
}

/** Reads a response from its first event on, or as a whole if it has ended and its events have expired. */
async function replay(
  client: Pick<Client, 'follow' | 'retrieve'>,
  shown: ShownChat,
  { pending, reading }: { pending: Pending; reading: Reading },
): Promise<ReadableStream<UIMessageChunk>> {
  const { responseId } = pending;
  const { signal } = reading;
  const events = client.follow(responseId, { signal });
  try {
    const first = await firstOf(events);
    return show(shown, pending, events, { first, reading, isReplay: true });
  } catch (error) {
    if (!hasNoEvents(error)) throw error;
    const response = await client.retrieve(responseId, { signal });
    if (!isTerminal(response.status)) throw error;
    return showWhole(shown, pending, { response, reading });
  }
}

const resumptions = new Resumptions();

interface ShownChat {
  client: Pick<Client, 'cancel'>;
  storage: ChatStorage;
  chatId: string;
  /** A resumption with a higher number takes the chat over. */
  since: number;
  /** The one that shows it; absent for a message that was sent. */
  resumption?: Resumption;
}

function endResumption({ resumption }: ShownChat): void {
  if (resumption) resumptions.end(resumption);
}

/**
 * Cancels the response of a chat that is stopped, unless another reading has taken it over: that one begins behind the abort
 * signal, in the same step. Whether the response is cancelled in time or ends by itself, nobody looks any more.
 */
function stopChat(shown: ShownChat, responseId: string): void {
  queueMicrotask(() => {
    endResumption(shown);
    if (resumptions.hasTakenOver(shown.chatId, responseId, shown.since)) return;
    void forget(shown, responseId);
    shown.client.cancel(responseId).catch(() => undefined);
  });
}

/** Whether a chat runs a tool for a chunk. A replay would have it run again, and would take back what it has returned. */
function isCall({ type }: UIMessageChunk): boolean {
  return type === 'tool-input-available';
}

/**
 * Reads a response as chunks, from its first event on. A chat that is stopped cancels it. A replay repeats what was in the message
 * before: only a chat that has just sent its messages has that.
 */
function show(
  shown: ShownChat,
  pending: Pending,
  events: AsyncGenerator<ResponseEvent, void, undefined>,
  { first, reading, isReplay }: { first: ResponseEvent; reading: Reading; isReplay: boolean },
): ReadableStream<UIMessageChunk> {
  const { responseId, messageId, before = [] } = pending;
  const { stopped: signal } = reading;
  const chunks = new UiChunks({ messageId, before: isReplay ? before : [] });
  const stop = () => stopChat(shown, responseId);
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  const leave = () => {
    signal?.removeEventListener('abort', stop);
    reading.leave();
    endResumption(shown);
  };
  let event: ResponseEvent | undefined = first;
  let mayReplay = !before.some(isCall);
  return new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      try {
        for (let sent = 0; sent === 0; ) {
          event ??= (await events.next()).value ?? undefined;
          if (!event) break;
          const made = chunks.of(event);
          const isLast = isLastEvent(event);
          event = undefined;
          for (const chunk of made) controller.enqueue(chunk);
          mayReplay &&= !made.some(isCall);
          sent = made.length;
          if (isLast) break;
          if (sent > 0) return;
        }
        leave();
        await forget(shown, responseId);
        controller.close();
      } catch (error) {
        const isLeft = reading.signal.aborted;
        leave();
        if (!isLeft) interrupted.set(shown.chatId, pending);
        controller.error(mayReplay ? asDisconnect(error) : error);
      }
    },
    async cancel() {
      leave();
      await events.return();
    },
  });
}

/** Shows a response that has ended. */
function showWhole(
  shown: ShownChat,
  pending: Pending,
  { response, reading }: { response: ResponseObject; reading: Reading },
): ReadableStream<UIMessageChunk> {
  return showLast(shown, pending, reading, (controller) => {
    for (const chunk of new UiChunks(pending).ofWhole(response)) controller.enqueue(chunk);
    return () => controller.close();
  });
}

/**
 * Ends the reading of a response that is gone with its error. A chat has that once, since it may be opened again and show no part of the response.
 * The AI SDK would resume one whose resumption rejects each time that its page is visible again, and take the error away when there is nothing to resume.
 */
function showGone(
  shown: ShownChat,
  pending: Pending,
  { error, reading }: { error: unknown; reading: Reading },
): ReadableStream<UIMessageChunk> {
  return showLast(shown, pending, reading, (controller) => () => controller.error(error));
}

/** Shows the last of a response, and forgets it before the end that `showIn` returns. Nothing is forgotten before somebody reads. */
function showLast(
  shown: ShownChat,
  { responseId }: Pending,
  reading: Reading,
  showIn: (controller: ReadableStreamDefaultController<UIMessageChunk>) => () => void,
): ReadableStream<UIMessageChunk> {
  const leave = () => {
    reading.leave();
    endResumption(shown);
  };
  const source: UnderlyingDefaultSource<UIMessageChunk> = {
    async pull(controller) {
      const end = showIn(controller);
      leave();
      await forget(shown, responseId);
      end();
    },
    cancel: leave,
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/**
 * The first event of a response that is created. It rejects with the signal's reason as soon as the chat is stopped before that.
 * The response may be accepted by then, and would run to its end, so its connection stays until the id is known and it can be
 * cancelled.
 */
function firstUnlessStopped(
  client: Pick<Client, 'cancel'>,
  events: AsyncGenerator<ResponseEvent, void, undefined>,
  { reading, stopped }: { reading: Reading; stopped: AbortSignal | undefined },
): ReturnType<typeof firstOf> {
  const first = firstOf(events);
  if (!stopped) return first;
  return new Promise((resolve, reject) => {
    const stop = () => {
      reject(stopped.reason);
      const timer = setTimeout(() => reading.leave(), idWithinMs);
      const cancelled = first.then(async ({ response }) => {
        reading.leave();
        await Promise.all([events.return(), client.cancel(response.id)]);
      });
      // Nobody looks any more, and a creation that was refused has nothing to cancel.
      cancelled.catch(() => undefined).finally(() => clearTimeout(timer));
    };
    stopped.addEventListener('abort', stop, { once: true });
    const listensNoMore = () => stopped.removeEventListener('abort', stop);
    first.then(resolve, reject).finally(listensNoMore);
  });
}

async function firstOf(events: AsyncGenerator<ResponseEvent, void, undefined>) {
  const { value: first } = await events.next();
  if (first?.type !== 'response.created') throw new TypeError('The stream does not begin with its response.');
  return first;
}
