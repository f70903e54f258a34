import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from 'ai';
import { describe, expect, it, vi } from 'vitest';
import {
  ApiError,
  type Client,
  ConnectionError,
  type CreateRequest,
  type ResponseEvent,
  type ResponseObject,
  StreamError,
} from '../index.ts';
import { createChatTransport } from './chat-transport.ts';
import { memoryStorage } from './chat-storage.ts';

const id = 'create-response_1';
const response = { id, status: 'completed', output: [], error: null, incomplete_details: null };
const part = { item_id: 'i', output_index: 0, content_index: 0 };
const answer = { type: 'message', id: 'i', content: [{ type: 'output_text', text: 'Hello' }] };
const events = [
  { type: 'response.created', response },
  { type: 'response.content_part.added', ...part, part: { type: 'output_text', text: '' } },
  { type: 'response.output_text.delta', ...part, delta: 'Hello' },
  { type: 'response.content_part.done', ...part, part: { type: 'output_text', text: 'Hello' } },
  { type: 'response.completed', response },
].map((event, at) => ({ ...event, sequence_number: at }) as unknown as ResponseEvent); // as far as they are read here

/** A client whose responses are all the same, and what it was asked for. */
function fakeClient({ failure }: { failure?: Error | undefined } = {}) {
  const asked: { created: CreateRequest[]; followed: string[]; cancelled: string[] } = {
    created: [],
    followed: [],
    cancelled: [],
  };
  async function* all() {
    if (failure) throw failure;
    yield* events;
  }
  const client: Pick<Client, 'stream' | 'follow' | 'retrieve' | 'cancel'> = {
    // As far as it is read here.
    retrieve: () => Promise.resolve({ ...response, output: [answer] } as unknown as ResponseObject),
    stream(request) {
      asked.created.push(request);
      return all();
    },
    follow(followed) {
      asked.followed.push(followed);
      return all();
    },
    cancel(cancelled) {
      asked.cancelled.push(cancelled);
      return Promise.reject(new Error('it does not matter'));
    },
  };
  return { client, asked };
}

/** A client whose responses begin when the test says so, and whose streams end with their signal. */
function slowClient() {
  const { client, asked } = fakeClient();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const signals: (AbortSignal | undefined)[] = [];
  async function* slow(signal: AbortSignal | undefined) {
    signals.push(signal);
    const ended = new Promise<never>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
    await Promise.race([begun, ended]);
    yield* events;
  }
  const slowed: typeof client = {
    ...client,
    stream: (request, options) => {
      asked.created.push(request);
      return slow(options?.signal);
    },
    follow: (followed, options) => {
      asked.followed.push(followed);
      return slow(options?.signal);
    },
  };
  return { client: slowed, asked, begin, signals };
}

/** A client whose streams break behind some events. */
function breakingClient(cause: Error, first = events.slice(0, 2)) {
  const { client, asked } = fakeClient();
  async function* beginning() {
    yield* first;
    throw cause;
  }
  return { client: { ...client, stream: () => beginning() }, asked };
}

/** A transport to a client, with the storage of its chats and what the client was asked for. */
function transportTo<T extends Pick<ReturnType<typeof fakeClient>, 'client'>>(
  made: T,
  options: Partial<Parameters<typeof createChatTransport>[0]> = {},
) {
  const { storage = memoryStorage() } = options;
  const transport = createChatTransport({
    client: made.client,
    request: { model: 'm' },
    ...options,
    storage,
  });
  return { ...made, storage, transport };
}

const question: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const sending = {
  trigger: 'submit-message' as const,
  chatId: 'chat',
  messageId: undefined,
  messages: [question],
  abortSignal: undefined,
};

async function read(stream: ReadableStream<UIMessageChunk> | null): Promise<UIMessage | undefined> {
  if (!stream) return undefined;
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, terminateOnError: true })) message = state;
  return message;
}

const refusal = (status: number, code: string) =>
  new ApiError('No.', {
    status,
    code,
    type: null,
    param: null,
    requestId: null,
    retryAfterMs: undefined,
    shouldRetry: undefined,
  });

describe('a message that is sent', () => {
  it('is a response in the background, remembered until its last chunk was read', async () => {
    const { transport, asked, storage } = transportTo(fakeClient());
    const stream = await transport.sendMessages({ ...sending, body: { temperature: 0 } });
    expect(asked.created).toEqual([
      {
        model: 'm',
        temperature: 0,
        background: true,
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      },
    ]);
    expect(await storage.get('chat')).toContain(id);
    expect(await read(stream)).toMatchObject({ id, parts: [{ type: 'step-start' }, { text: 'Hello' }] });
    expect(await storage.get('chat')).toBeUndefined();
  });

  it('can be made a request by the application', async () => {
    const { transport, asked } = transportTo(fakeClient(), {
      prepareRequest: ({ chatId }) => ({ model: 'other', input: chatId }),
    });
    await transport.sendMessages(sending);
    expect(asked.created).toEqual([{ model: 'other', input: 'chat', background: true }]);
  });

  it('that is refused rejects, and leaves nothing to resume', async () => {
    const failure = refusal(400, 'model_not_found');
    const { transport } = transportTo(fakeClient({ failure }));
    await expect(transport.sendMessages(sending)).rejects.toBe(failure);
    expect(await transport.reconnectToStream({ chatId: 'chat' })).toBeNull();
  });

  it('ends its connection when its reader leaves while the response waits', async () => {
    let signal: AbortSignal | undefined;
    const client: ReturnType<typeof fakeClient>['client'] = {
      ...fakeClient().client,
      async *stream(_request, options) {
        ({ signal } = options ?? {});
        yield* events.slice(0, 1);
        await new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal?.reason));
        });
      },
    };
    const { transport } = transportTo({ client });
    const stream = await transport.sendMessages(sending);
    await stream.cancel();
    expect(signal?.aborted).toBe(true);
  });

  it('that is stopped cancels its response; one whose reader leaves does not', async () => {
    const { transport, asked, storage } = transportTo(fakeClient());
    const left = await transport.sendMessages(sending);
    await left.cancel();
    expect(asked.cancelled).toEqual([]);
    expect(await storage.get('chat')).toContain(id);
    const stopping = new AbortController();
    await transport.sendMessages({ ...sending, abortSignal: stopping.signal });
    stopping.abort();
    await vi.waitFor(() => expect(asked.cancelled).toEqual([id]));
    expect(await storage.get('chat')).toBeUndefined();
  });
});

describe('a message that is stopped before the first event of its response', () => {
  it('rejects at once, and its response is cancelled as soon as its id is known', async () => {
    const { transport, asked, begin, signals, storage } = transportTo(slowClient());
    const stopping = new AbortController();
    const sent = transport.sendMessages({ ...sending, abortSignal: stopping.signal });
    await vi.waitFor(() => expect(signals).toHaveLength(1));
    const reason = new Error('stopped');
    stopping.abort(reason);
    await expect(sent).rejects.toBe(reason);
    expect(signals[0]?.aborted).toBe(false);
    begin();
    await vi.waitFor(() => expect(asked.cancelled).toEqual([id]));
    expect(signals[0]?.aborted).toBe(true);
    expect(await storage.get('chat')).toBeUndefined();
  });

  it('waits some seconds for the id, and no longer', async () => {
    vi.useFakeTimers();
    try {
      const { transport, asked, signals } = transportTo(slowClient());
      const stopping = new AbortController();
      const sent = transport.sendMessages({ ...sending, abortSignal: stopping.signal });
      await vi.advanceTimersByTimeAsync(0);
      stopping.abort();
      await expect(sent).rejects.toBe(stopping.signal.reason);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(signals[0]?.aborted).toBe(true);
      expect(asked.cancelled).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not sent when it is stopped while its request is prepared', async () => {
    const stopping = new AbortController();
    const { transport, asked } = transportTo(slowClient(), {
      prepareRequest: () => {
        stopping.abort();
        return { model: 'm', input: 'Hi' };
      },
    });
    const sent = transport.sendMessages({ ...sending, abortSignal: stopping.signal });
    await expect(sent).rejects.toBe(stopping.signal.reason);
    expect(asked.created).toEqual([]);
  });

  it('has its response cancelled also where a page that is loaded again reads it', async () => {
    const { transport, asked, signals, storage } = transportTo(slowClient());
    await storage.set('chat', JSON.stringify({ responseId: id }));
    const stopping = new AbortController();
    const reading = transport.reconnectToStream({ chatId: 'chat', abortSignal: stopping.signal });
    await vi.waitFor(() => expect(signals).toHaveLength(1));
    stopping.abort();
    await expect(reading).rejects.toBe(stopping.signal.reason);
    await vi.waitFor(() => expect(asked.cancelled).toEqual([id]));
    expect(await storage.get('chat')).toBeUndefined();
  });
});

describe('a page that is loaded again', () => {
  it('reads the response from its beginning, and after its end there is nothing to resume', async () => {
    const { transport: before, client, asked, storage } = transportTo(fakeClient());
    await before.sendMessages(sending);
    const { transport: after } = transportTo({ client }, { storage });
    expect(after.resumeStreamIsReplay).toBe(true);
    expect(await read(await after.reconnectToStream({ chatId: 'chat' }))).toMatchObject({ id });
    expect(asked.followed).toEqual([id]);
    expect(await after.reconnectToStream({ chatId: 'chat' })).toBeNull();
  });

  it('is read to its end, and can be stopped, where its storage fails', async () => {
    const full = () => Promise.reject(new Error('full'));
    const storage = { get: () => undefined, set: full, delete: full };
    const { transport, asked } = transportTo(fakeClient(), { storage });
    const message = await read(await transport.sendMessages(sending));
    expect(message).toMatchObject({ id });
    const stopping = new AbortController();
    await transport.sendMessages({ ...sending, abortSignal: stopping.signal });
    stopping.abort();
    await vi.waitFor(() => expect(asked.cancelled).toEqual([id]));
  });

  it('goes on with the earlier message that an output belongs to', async () => {
    const { transport } = transportTo(fakeClient());
    const messages: UIMessage[] = ['a1', 'a2'].map((each) => ({ id: each, role: 'assistant', parts: [] }));
    const stream = await transport.sendMessages({ ...sending, messages, messageId: 'a1' });
    expect(await read(stream)).toMatchObject({ id: 'a1' });
  });

  it('finds the later one of two responses when the first has ended', async () => {
    const { transport, storage } = transportTo(fakeClient());
    const first = await transport.sendMessages(sending);
    const later = JSON.stringify({ responseId: 'create-response_2' });
    await storage.set('chat', later);
    await read(first);
    expect(await storage.get('chat')).toBe(later);
  });

  it.each([
    ['before its first event', slowClient],
    ['while it is read', fakeClient],
  ])('goes on with its response where it is resumed twice, %s', async (_when, clientOf) => {
    const { client, asked } = clientOf();
    const storage = memoryStorage();
    await storage.set('chat', JSON.stringify({ responseId: id }));
    // A page may make one each time that it renders.
    const transport = () => transportTo({ client }, { storage }).transport;
    const resume = (abortSignal: AbortSignal) =>
      void transport()
        .reconnectToStream({ chatId: 'chat', abortSignal })
        .catch(() => undefined);
    const first = new AbortController();
    const second = new AbortController();
    resume(first.signal);
    await vi.waitFor(() => expect(asked.followed).toHaveLength(1));
    first.abort();
    resume(second.signal);
    await vi.waitFor(() => expect(asked.followed).toHaveLength(2));
    expect(asked.cancelled).toEqual([]);
    expect(await storage.get('chat')).toContain(id);
    second.abort();
    await vi.waitFor(() => expect(asked.cancelled).toEqual([id]));
  });

  it.each([
    ['finds nothing', undefined, undefined],
    ['fails', id, new Error('no answer')],
    ['reads another response', 'create-response_2', undefined],
  ])(
    'has its response cancelled when it is stopped after a resumption that %s',
    async (_what, kept, failure) => {
      const { transport, asked, storage } = transportTo(fakeClient());
      const stopping = new AbortController();
      await transport.sendMessages({ ...sending, abortSignal: stopping.signal });
      await storage.delete('chat');
      if (kept !== undefined) await storage.set('chat', JSON.stringify({ responseId: kept }));
      const { transport: other } = transportTo(fakeClient({ failure }), { storage });
      await other.reconnectToStream({ chatId: 'chat' }).catch(() => undefined);
      stopping.abort();
      await vi.waitFor(() => expect(asked.cancelled).toEqual([id]));
    },
  );

  it('shows what was in a message before the response that goes on with it', async () => {
    const { transport } = transportTo(fakeClient());
    const called: UIMessage = {
      id: 'a',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'tool-weather', toolCallId: 'c', state: 'output-available', input: {}, output: 3 },
      ],
    };
    await transport.sendMessages({ ...sending, messages: [question, called] });
    const whole = await read(await transport.reconnectToStream({ chatId: 'chat' }));
    expect(whole).toMatchObject({
      id: 'a',
      parts: [...called.parts, { type: 'step-start' }, { type: 'text', text: 'Hello' }],
    });
  });

  it('finds nothing to resume when the response is gone', async () => {
    const { transport, storage } = transportTo(fakeClient({ failure: refusal(404, 'not_found') }));
    await storage.set('chat', JSON.stringify({ responseId: id }));
    expect(await transport.reconnectToStream({ chatId: 'chat' })).toBeNull();
    expect(await storage.get('chat')).toBeUndefined();
  });

  it('shows the whole response when its events have expired, and forgets it once that was read', async () => {
    const { transport, asked, storage } = transportTo(
      fakeClient({ failure: refusal(400, 'stream_expired') }),
    );
    const before = [{ type: 'text-start' as const, id: 't' }];
    await storage.set('chat', JSON.stringify({ responseId: id, messageId: 'a', before }));
    await (await transport.reconnectToStream({ chatId: 'chat' }))?.cancel();
    expect(await storage.get('chat')).toContain(id);
    expect(await read(await transport.reconnectToStream({ chatId: 'chat' }))).toMatchObject({
      id: 'a',
      parts: [{ text: '' }, { type: 'step-start' }, { text: 'Hello' }],
    });
    expect(await storage.get('chat')).toBeUndefined();
    expect(asked.cancelled).toEqual([]);
  });

  it('rejects when the events have expired of a response that has not ended', async () => {
    const failure = refusal(400, 'stream_expired');
    const { client } = fakeClient({ failure });
    const open = { ...response, status: 'in_progress' } as unknown as ResponseObject; // as far as it is read here
    const { transport, storage } = transportTo({
      client: { ...client, retrieve: () => Promise.resolve(open) },
    });
    await storage.set('chat', JSON.stringify({ responseId: id }));
    await expect(transport.reconnectToStream({ chatId: 'chat' })).rejects.toBe(failure);
  });

  it('can try again when the server did not answer', async () => {
    const { transport, storage } = transportTo(fakeClient({ failure: new Error('no answer') }));
    await storage.set('chat', JSON.stringify({ responseId: id }));
    await expect(transport.reconnectToStream({ chatId: 'chat' })).rejects.toThrow('no answer');
    expect(await storage.get('chat')).toContain(id);
  });

  it('ignores what somebody else has stored', async () => {
    const { transport, storage } = transportTo(fakeClient());
    for (const value of ['', 'x', '1', 'null', '{"responseId":1}']) {
      await storage.set('chat', value);
      expect(await transport.reconnectToStream({ chatId: 'chat' })).toBeNull();
    }
  });
});

/** What `useChat` keeps, without React. */
class Chat extends AbstractChat<UIMessage> {
  constructor(
    transport: ReturnType<typeof createChatTransport>,
    { messages = [], ...given }: Pick<ChatInit<UIMessage>, 'messages' | 'onToolCall'> = {},
  ) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => (state.messages = [...state.messages, message]),
      popMessage: () => (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => (state.messages = state.messages.with(index, message)),
      snapshot: (thing) => structuredClone(thing),
    };
    super({ id: 'chat', transport, state, ...given });
  }

  /** What `useChat` does when its page is visible again. */
  becomeVisible(): Promise<void> {
    const resumed = this as unknown as { '~resumeStreamIfDisconnected': () => Promise<void> }; // is not in its types
    return resumed['~resumeStreamIfDisconnected']();
  }
}

describe('a chat whose response could not be followed to its end', () => {
  const broken = (cause: Error) =>
    new StreamError('It broke.', { cause, responseId: id, lastSequenceNumber: 1 });
  const chatOf = (failure: Error) => {
    return new Chat(transportTo(breakingClient(failure)).transport);
  };

  it('is resumed by the AI SDK when its page is visible again, if the network failed', async () => {
    const failure = broken(new ConnectionError('It was asleep.'));
    const chat = chatOf(failure);
    await chat.sendMessage({ text: 'Hi' });
    expect(chat.error).toMatchObject({ name: 'TypeError', cause: failure });
    await chat.becomeVisible();
    expect(chat.status).toBe('ready');
    expect(chat.lastMessage).toMatchObject({ id, parts: [{ type: 'step-start' }, { text: 'Hello' }] });
  });

  describe('and which is resumed in the same page', () => {
    const failure = broken(new ConnectionError('It was asleep.'));
    const whole = { id, parts: [{ type: 'step-start' }, { type: 'text', text: 'Hello' }] };

    /** A chat that shows no more than the beginning of its message. `refuse`: what follows is an error. */
    async function chatInPart({ storage = memoryStorage(), cause = failure } = {}) {
      const { client, asked } = breakingClient(cause);
      let refused: Error | undefined;
      const breaking: typeof client = {
        ...client,
        follow: (followed) => (refused ? fakeClient({ failure: refused }).client : client).follow(followed),
      };
      const { transport } = transportTo({ client: breaking }, { storage });
      const chat = new Chat(transport);
      await chat.sendMessage({ text: 'Hi' });
      return { chat, transport, asked, storage, refuse: (error?: Error) => void (refused = error) };
    }

    it('has an error when it cannot be read, and is whole once it can', async () => {
      const { chat, transport, storage, refuse } = await chatInPart();
      const refused = refusal(503, 'store_unavailable');
      refuse(refused);
      await chat.becomeVisible();
      expect(chat).toMatchObject({ status: 'error', error: refused });
      expect(await storage.get('chat')).toContain(id);
      refuse(undefined);
      await chat.becomeVisible();
      expect(chat).toMatchObject({ status: 'ready', error: undefined, lastMessage: whole });
      expect(await transport.reconnectToStream({ chatId: 'chat' })).toBeNull();
    });

    it('has an error when its response is gone, however often its page is visible again', async () => {
      const { chat, asked, refuse } = await chatInPart();
      const refused = refusal(404, 'not_found');
      refuse(refused);
      for (const _ of [1, 2]) await chat.becomeVisible();
      expect(chat).toMatchObject({ status: 'error', error: refused });
      expect(asked.cancelled).toEqual([]);
    });

    it('has nothing to resume once it had that error and is opened again', async () => {
      const { chat, transport, storage, refuse } = await chatInPart();
      refuse(refusal(404, 'not_found'));
      await (await transport.reconnectToStream({ chatId: 'chat' }))?.cancel();
      await chat.becomeVisible();
      expect(chat.status).toBe('error');
      expect(await storage.get('chat')).toBeUndefined();
      const opened = new Chat(transport);
      await opened.resumeStream();
      expect(opened).toMatchObject({ status: 'ready', error: undefined });
    });

    it('is whole also where the events have expired', async () => {
      const { chat, transport, refuse } = await chatInPart();
      refuse(refusal(400, 'stream_expired'));
      await chat.becomeVisible();
      expect(chat).toMatchObject({ status: 'ready', error: undefined, lastMessage: whole });
      expect(await transport.reconnectToStream({ chatId: 'chat' })).toBeNull();
    });

    it('is whole also where the storage was full', async () => {
      const full = { get: () => undefined, set: () => undefined, delete: () => undefined };
      const { chat } = await chatInPart({ storage: full });
      await chat.becomeVisible();
      expect(chat).toMatchObject({ status: 'ready', lastMessage: whole });
    });

    it('has an error also where the server had refused, and somebody resumes it by hand', async () => {
      const { chat, refuse } = await chatInPart({ cause: broken(refusal(503, 'store_unavailable')) });
      const refused = refusal(404, 'not_found');
      refuse(refused);
      await chat.resumeStream();
      expect(chat).toMatchObject({ status: 'error', error: refused });
    });

    it('reads the later response once another message was sent', async () => {
      const { transport, asked, storage } = await chatInPart();
      const later = 'create-response_2';
      await (await transport.sendMessages(sending)).cancel();
      await storage.set('chat', JSON.stringify({ responseId: later }));
      await read(await transport.reconnectToStream({ chatId: 'chat' }));
      expect(asked.followed).toEqual([later]);
    });

    it('has nothing to resume once it was stopped', async () => {
      const { transport, storage } = await chatInPart();
      const stopping = new AbortController();
      await transport.reconnectToStream({ chatId: 'chat', abortSignal: stopping.signal });
      stopping.abort();
      await vi.waitFor(async () => expect(await storage.get('chat')).toBeUndefined());
      expect(await transport.reconnectToStream({ chatId: 'chat' })).toBeNull();
    });
  });

  describe('behind a call of a tool', () => {
    const failure = broken(new ConnectionError('It was asleep.'));

    it('runs the tool once, and has the error of the client, which is resumed by nobody', async () => {
      const call = { type: 'function_call', id: 'f', call_id: 'c', name: 'pay', arguments: '{}' };
      const calling = [
        events[0],
        { type: 'response.output_item.added', output_index: 0, item: call },
        { type: 'response.output_item.done', output_index: 0, item: { ...call, status: 'completed' } },
      ].map((event, at) => ({ ...event, sequence_number: at }) as unknown as ResponseEvent); // as far as they are read here
      const { transport, asked } = transportTo(breakingClient(failure, calling));
      const ran: string[] = [];
      const chat = new Chat(transport, {
        onToolCall: ({ toolCall }) => void ran.push(toolCall.toolCallId),
      });
      await chat.sendMessage({ text: 'Hi' });
      await chat.addToolOutput({ tool: 'pay', toolCallId: 'c', output: 'paid' });
      expect(chat.error).toBe(failure);
      await chat.becomeVisible();
      expect(ran).toEqual(['c']);
      expect(asked.followed).toEqual([]);
      expect(chat.lastMessage?.parts).toContainEqual(expect.objectContaining({ output: 'paid' }));
    });

    it('has that error also where the call was made before the response', async () => {
      const { transport } = transportTo(breakingClient(failure));
      const called: UIMessage = {
        id: 'a',
        role: 'assistant',
        parts: [{ type: 'tool-pay', toolCallId: 'c', state: 'input-available', input: {} }],
      };
      await expect(
        transport.sendMessages({ ...sending, messages: [question, called] }).then(read),
      ).rejects.toBe(failure);
    });
  });

  it('has the error of the client if the server refused', async () => {
    const failure = broken(refusal(503, 'store_unavailable'));
    const chat = chatOf(failure);
    await chat.sendMessage({ text: 'Hi' });
    expect(chat.error).toBe(failure);
  });
});
