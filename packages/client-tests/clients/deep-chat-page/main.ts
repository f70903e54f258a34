import { DeepChat } from 'deep-chat';

const asked = new URLSearchParams(location.search);
const [baseUrl = '', key = '', model = '', path = ''] = ['baseUrl', 'key', 'model', 'path'].map(
  (name) => asked.get(name) ?? '',
);

const chat = new DeepChat();
chat.directConnection =
  path === 'messages' ? { claude: { key, max_tokens: 1024 } } : { openAI: { key, completions: true } };
// It takes the model of chat completions from here alone.
chat.connect = {
  url: `${baseUrl}/${path}`,
  stream: asked.get('stream') === 'true',
  additionalBodyProps: { model },
};
chat.errorMessages = { displayServiceErrorMessages: true };
// The component is an element of the page, which its types do not say.
const element: unknown = chat;
if (element instanceof HTMLElement) document.querySelector('#chat')?.append(element);
