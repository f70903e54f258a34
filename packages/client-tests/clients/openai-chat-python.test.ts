import { describe, expect, it } from 'vitest';
import { clientSite, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { testBrokenConnections } from './broken-connections.ts';
import { askInPython, hasPython, pythonSession } from './python-session.ts';

const hasPackage = hasPython('openai');

const site = clientSite();

/** Lines that every script begins with. */
const beginning = `
chat = client.chat.completions
def user(content):
    return [{"role": "user", "content": content}]
weather = {"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}}
`;

describe.skipIf(!hasPackage).each(mounts)(
  'openai for Python with chat completions at $mount',
  ({ mount }) => {
    const session = pythonSession('openai', () => site.baseUrl(mount));
    const python = (script: string, key = site.key) => session.run(`${beginning}${script}`, key);

    it('`create`, whole and with `stream=True`, and their usage', async () => {
      const script = `
said = user("Tell me of Bergen.")
whole = chat.create(model="scripted", messages=said)
chunks = list(chat.create(model="scripted", messages=said, stream=True, stream_options={"include_usage": True}))
text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
show(text=whole.choices[0].message.content, same=text == whole.choices[0].message.content,
     tokens=[whole.usage.total_tokens, chunks[-1].usage.total_tokens], finish=whole.choices[0].finish_reason)
`;
      expect(await python(script)).toEqual({
        text: 'Bergen lies between seven mountains.',
        same: true,
        tokens: [18, 18],
        finish: 'stop',
      });
    });

    it('`parse` with a pydantic model', async () => {
      const script = `
from pydantic import BaseModel
class Person(BaseModel):
    name: str
    age: int
said = user("Describe a person.")
parsed = chat.parse(model="scripted", messages=said, response_format=Person).choices[0].message.parsed
show(name=parsed.name, age=parsed.age)
`;
      expect(await python(script)).toEqual({ name: 'Ada', age: 36 });
    });

    it('tools in several steps', async () => {
      const script = `
messages = user("Compare the weather in two places.")
for step in range(5):
    message = chat.create(model="scripted", messages=messages, tools=[weather]).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        place = json.loads(call.function.arguments)["place"]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "rain in " + place})
show(text=message.content, steps=step + 1)
`;
      expect(await python(script)).toEqual({
        text: 'The tools say: rain in Bergen and rain in Oslo.',
        steps: 3,
      });
    });

    it('parallel tool calls in a stream', async () => {
      const script = `
with chat.stream(model="scripted", messages=user("Ask for the weather in both."), tools=[weather]) as stream:
    choice = stream.get_final_completion().choices[0]
show(places=[json.loads(call.function.arguments)["place"] for call in choice.message.tool_calls],
     finish=choice.finish_reason)
`;
      expect(await python(script)).toEqual({ places: ['Bergen', 'Oslo'], finish: 'tool_calls' });
    });

    it('an image as a data URL', async () => {
      const prompt = onlyPrompt('Repeat what was said');
      const script = `
image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
said = user([{"type": "text", "text": "${prompt}"}, image])
show(text=chat.create(model="scripted", messages=said).choices[0].message.content)
`;
      expect(await python(script)).toEqual({ text: `user: ${prompt}` });
      expect(JSON.stringify(site.model.requestsFor(prompt)[0]?.body)).toContain('iVBORw0KGgo=');
    });

    it('errors: 400 and 401', async () => {
      const script = `
try:
    chat.create(model="nobody", messages=user("Hello."))
except openai.BadRequestError as error:
    bad = [error.status_code, error.code, error.param, error.request_id[:4]]
try:
    openai.OpenAI(api_key="sk-unknown").chat.completions.create(model="simulator", messages=user("Hello."))
except openai.AuthenticationError as error:
    show(bad=bad, key=[error.status_code, error.code])
`;
      expect(await python(script)).toEqual({
        bad: [400, 'model_not_found', 'model', 'req_'],
        key: [401, 'invalid_api_key'],
      });
    });

    it('429 as a `RateLimitError`', async () => {
      const script = `
chat.create(model="simulator", messages=user("The only one."))
try:
    chat.create(model="simulator", messages=user("One too many."))
except openai.RateLimitError as error:
    show(code=error.code, wait=int(error.response.headers["retry-after"]) >= 1)
`;
      const told = await python(script, oneRequestKeys[mount]);
      expect(told).toEqual({ code: 'rate_limit_exceeded', wait: true });
    });

    it('a stream that fails on the way', async () => {
      const script = `
text = ""
try:
    for chunk in chat.create(model="scripted", messages=user("Break."), stream=True):
        text += chunk.choices[0].delta.content or ""
except openai.APIError as error:
    show(text=text, code=error.code)
`;
      expect(await python(script)).toEqual({ text: 'It was a dark ', code: 'upstream_error' });
    });

    it('leaving a stream cancels the response', async () => {
      const prompt = onlyPrompt('Stall');
      const script = `
with chat.create(model="scripted", messages=user("${prompt}"), stream=True) as stream:
    show(first=next(chunk.choices[0].delta.content for chunk in stream if chunk.choices[0].delta.content))
`;
      expect(await python(script)).toEqual({ first: 'Well, ' });
      expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
    });

    testBrokenConnections({
      site,
      mount,
      cutError: 'APIConnectionError',
      ...askInPython({
        session,
        beginning,
        address: ({ baseUrl }) => baseUrl,
        create:
          'chat.completions.create(model="scripted", messages=user(prompt), extra_headers=once, stream=stream)',
        whole: 'answer.choices[0].message.content',
        piece: 'part.choices[0].delta.content or ""',
      }),
    });
  },
);
