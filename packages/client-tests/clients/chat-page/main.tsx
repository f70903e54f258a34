import { useChat } from '@ai-sdk/react';
import { createClient } from '@sluice/client';
import { createChatTransport } from '@sluice/client/ai-sdk';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';

/** A chat as a user of the AI SDK writes it, with the service at another origin. Its address says where, and with which key. */
const asked = new URLSearchParams(location.search);

const client = createClient({
  baseUrl: asked.get('baseUrl') ?? '',
  apiKey: asked.get('key') ?? '',
  retry: { attempts: 2, firstMs: 1 },
});
const transport = createChatTransport({ client, request: { model: asked.get('model') ?? '' } });

function Chat() {
  const { messages, sendMessage, status, error, stop } = useChat({ id: 'chat', transport, resume: true });
  const [text, setText] = useState('');
  const send = () => {
    void sendMessage({ text });
    setText('');
  };
  return (
    <>
      <p id="status">{status}</p>
      <p id="error">{error?.message}</p>
      <ol>
        {messages.map(({ id, role, parts }) => (
          <li key={id} data-role={role}>
            {parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}
          </li>
        ))}
      </ol>
      <input aria-label="Message" value={text} onChange={(event) => setText(event.currentTarget.value)} />
      <button onClick={send}>Send</button>
      <button onClick={() => void stop()}>Stop</button>
    </>
  );
}

const chat = document.getElementById('chat');
if (chat) {
  createRoot(chat).render(
    <StrictMode>
      <Chat />
    </StrictMode>,
  );
}
