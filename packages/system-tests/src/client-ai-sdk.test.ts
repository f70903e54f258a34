import { createClient } from '@sluice/client';
import { createChatTransport, type ChatStorage, memoryStorage } from '@sluice/client/ai-sdk';
import { eventually, within } from '@sluice/testing';
import { AbstractChat, type ChatState, type ChatTransport, type UIMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { deliverySite, responseIn, siteKeys } from './delivery-site.ts';

const site = deliverySite();

/** What `useChat` keeps, without React. */
class Chat extends AbstractChat<UIMessage> {
  constructor(transport: ChatTransport<UIMessage>, messages: UIMessage[] = []) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => (state.messages = [...state.messages, message]),
      popMessage: () => (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => (state.messages = state.messages.with(index, message)),
      snapshot: (thing) => structuredClone(thing),
    };
    super({ id: 'chat', transport, state });
  }

  get text(): string {
    const parts = this.lastMessage?.role === 'assistant' ? this.lastMessage.parts : [];
    return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  }
}

/** A page with a chat. Once it is closed nothing of it reaches the network. */
function openPage(storage: ChatStorage, messages?: UIMessage[]) {
  const closing = new AbortController();
  const client = createClient({
    baseUrls: site.service.apiUrls.map((url) => `${url}/v1`),
    apiKey: siteKeys.tester,
    fetch: (input, init) =>
      fetch(input, {
        ...init,
        signal: AbortSignal.any([closing.signal, ...(init?.signal ? [init.signal] : [])]),
      }),
    retry: { attempts: 3, firstMs: 1 },
  });
  const transport = createChatTransport({ client, request: { model: 'scripted' }, storage });
  return { chat: new Chat(transport, messages), close: () => closing.abort() };
}

describe('a chat of the AI SDK', () => {
  it('shows a response as it comes', async () => {
    const { chat } = openPage(memoryStorage());
    const call = site.upstream.expect('one word', [' done']);
    const sent = chat.sendMessage({ text: call.input });
    await eventually(() => chat.text === 'Well');
    expect(chat.status).toBe('streaming');
    call.finish();
    await within(sent);
    expect(chat).toMatchObject({ status: 'ready', text: 'Well done.' });
  });

  it('goes on after its page was loaded again in the middle of a response, which runs once', async () => {
    const storage = memoryStorage();
    const before = openPage(storage);
    const call = site.upstream.expect('one word', [' done']);
    void before.chat.sendMessage({ text: call.input });
    await eventually(() => before.chat.text === 'Well');
    const saved = before.chat.messages;
    before.close();
    await eventually(() => before.chat.status === 'error');

    const after = openPage(storage, saved);
    const resumed = after.chat.resumeStream();
    await eventually(() => after.chat.status === 'streaming' && after.chat.text === 'Well');
    call.finish();
    await within(resumed);
    expect(after.chat).toMatchObject({ status: 'ready', text: 'Well done.' });
    // The message that was saved in part is whole, and there is no second one.
    expect(after.chat.messages.map(({ id }) => id)).toEqual(saved.map(({ id }) => id));
    expect(
      site.upstream.fake.requests.filter(({ body }) => JSON.stringify(body).includes(call.input)),
    ).toHaveLength(1);

    await after.chat.resumeStream();
    expect(after.chat).toMatchObject({ status: 'ready', text: 'Well done.' });
  });

  it('sees the end of a response that ended while no page was open', async () => {
    const storage = memoryStorage();
    const before = openPage(storage);
    const call = site.upstream.expect('one word', [' done']);
    void before.chat.sendMessage({ text: call.input });
    await eventually(() => before.chat.text === 'Well');
    const [question] = before.chat.messages;
    const id = before.chat.lastMessage?.id ?? '';
    before.close();
    call.finish();
    await eventually(async () => responseIn(await site.get(0, id)).status === 'completed');

    const after = openPage(storage, question && [question]);
    await within(after.chat.resumeStream());
    expect(after.chat.text).toBe('Well done.');
  });

  it('cancels the response that it is stopped in', async () => {
    const { chat } = openPage(memoryStorage());
    const call = site.upstream.expect('one word');
    const sent = chat.sendMessage({ text: call.input });
    await eventually(() => chat.text === 'Well');
    await chat.stop();
    await within(sent);
    const id = chat.lastMessage?.id ?? '';
    await eventually(async () => responseIn(await site.get(0, id)).status === 'cancelled');
    expect(chat.status).toBe('ready');
  });

  it('shows why a response failed', async () => {
    const { chat } = openPage(memoryStorage());
    await within(chat.sendMessage({ text: 'Hi' }, { body: { model: 'none' } }));
    expect(chat.status).toBe('error');
    expect(chat.error?.message).toContain('none');
    await within(
      chat.sendMessage({ text: '[[sluice: fail=model_error after=1]]' }, { body: { model: 'simulator' } }),
    );
    expect(chat.status).toBe('error');
    expect(chat.error?.message).toContain('The model failed to produce a response to this request.');
  });
});
