import { createParser } from 'eventsource-parser';
import { ApiError, UnreachableError } from './api-error.ts';
import { fetchAdmin } from './request.ts';

/** A server-sent event of the admin API; `data` is parsed already. */
export interface LiveEvent {
  event: string;
  data: unknown;
  id: string | undefined;
}

export interface EventStreamOptions {
  url: string;
  /** Where to go on: the id of the last event that was seen. */
  lastEventId?: string | undefined;
  signal: AbortSignal;
  onOpen: () => void;
  onEvent: (event: LiveEvent) => void;
}

/** Silence after which a connection counts as dead, in milliseconds. The service says something every 15 seconds. */
const mostSilenceMs = 40_000;

/**
 * Reads one connection of server-sent events until it ends, which resolves.
 *
 * @throws {ApiError} when the service refuses it, {UnreachableError} when it is not there, breaks off or falls silent.
 */
export async function readEventStream(options: EventStreamOptions): Promise<void> {
  const { url, lastEventId, signal, onOpen, onEvent } = options;
  const silence = new AbortController();
  const bothSignals = AbortSignal.any([signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), mostSilenceMs);
  try {
    const response = await fetchAdmin(url, {
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      signal: bothSignals,
    });
    onOpen();
    const parser = createParser({
      onEvent: ({ event = 'message', data, id }) => onEvent({ event, data: JSON.parse(data), id }),
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), mostSilenceMs);
      parser.feed(read.value);
    }
  } catch (error) {
    // A connection that falls silent or breaks is lost. One that its page has left says nothing about the service.
    throw signal.aborted || error instanceof ApiError ? error : new UnreachableError(error);
  } finally {
    clearTimeout(timer);
  }
}
