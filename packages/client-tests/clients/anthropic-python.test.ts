import { describe, expect, it } from 'vitest';
import { clientSite, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { testBrokenConnections } from './broken-connections.ts';
import { askInPython, hasPython, pythonSession } from './python-session.ts';

const hasPackage = hasPython('anthropic');

const site = clientSite();

/** Lines that every script begins with. */
const beginning = `
def user(text):
    return [{"role": "user", "content": text}]
asked = {"model": "scripted", "max_tokens": 1024}
weather = {"name": "get_weather", "input_schema": {
    "type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}}
`;

describe.skipIf(!hasPackage).each(mounts)('anthropic for Python at $mount', ({ mount }) => {
  // It adds `/v1` to its address itself.
  const session = pythonSession('anthropic', () => site.baseUrl(mount).replace(/\/v1$/, ''));
  const python = (script: string, key = site.key) => session.run(`${beginning}${script}`, key);

  it('`create`', async () => {
    const script = `
message = messages.create(**asked, messages=user("Tell me of Bergen."))
show(text=message.content[0].text, stop=message.stop_reason,
     tokens=[message.usage.input_tokens, message.usage.output_tokens], request=message._request_id[:4])
`;
    expect(await python(script)).toEqual({
      text: 'Bergen lies between seven mountains.',
      stop: 'end_turn',
      tokens: [11, 7],
      request: 'req_',
    });
  });

  it('`create` with `stream=True`', async () => {
    const script = `
events = list(messages.create(**asked, messages=user("Tell me of Bergen."), stream=True))
text = "".join(e.delta.text for e in events if e.type == "content_block_delta")
show(first=events[0].type, last=events[-1].type, text=text)
`;
    expect(await python(script)).toEqual({
      first: 'message_start',
      last: 'message_stop',
      text: 'Bergen lies between seven mountains.',
    });
  });

  it('`stream` with `get_final_message`', async () => {
    const script = `
with messages.stream(**asked, messages=user("Tell me of Bergen.")) as stream:
    text = "".join(stream.text_stream)
    final = stream.get_final_message()
show(text=text, same=final.content[0].text == text, tokens=[final.usage.input_tokens, final.usage.output_tokens])
`;
    expect(await python(script)).toEqual({
      text: 'Bergen lies between seven mountains.',
      same: true,
      tokens: [11, 7],
    });
  });

  it('`parse` with a pydantic model', async () => {
    const script = `
from pydantic import BaseModel
class Person(BaseModel):
    name: str
    age: int
parsed = messages.parse(**asked, messages=user("Describe a person."), output_format=Person).parsed_output
show(name=parsed.name, age=parsed.age)
`;
    expect(await python(script)).toEqual({ name: 'Ada', age: 36 });
  });

  it.each(['scripted', 'scripted-chat'])('tools in several steps, with %s', async (model) => {
    const script = `
said = user("Compare the weather in two places.")
for step in range(5):
    message = messages.create(model="${model}", max_tokens=1024, messages=said, tools=[weather])
    said.append({"role": "assistant", "content": message.content})
    if message.stop_reason != "tool_use":
        break
    said.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": block.id, "content": "rain in " + block.input["place"]}
        for block in message.content if block.type == "tool_use"]})
show(text=message.content[0].text, steps=step + 1)
`;
    expect(await python(script)).toEqual({
      text: 'The tools say: rain in Bergen and rain in Oslo.',
      steps: 3,
    });
  });

  it('parallel tool calls in a stream', async () => {
    const script = `
with messages.stream(**asked, messages=user("Ask for the weather in both."), tools=[weather]) as stream:
    final = stream.get_final_message()
show(inputs=[block.input for block in final.content], stop=final.stop_reason)
`;
    expect(await python(script)).toEqual({
      inputs: [{ place: 'Bergen' }, { place: 'Oslo' }],
      stop: 'tool_use',
    });
  });

  it('an image and a document in base64', async () => {
    const prompt = onlyPrompt('Repeat what was said');
    const script = `
def source(kind, data):
    return {"type": "base64", "media_type": kind, "data": data}
said = user([{"type": "text", "text": "${prompt}"},
    {"type": "image", "source": source("image/png", "iVBORw0KGgo=")},
    {"type": "document", "source": source("application/pdf", "JVBERi0=")}])
show(text=messages.create(**asked, messages=said).content[0].text)
`;
    expect(await python(script)).toEqual({ text: `user: ${prompt}` });
    const [request] = site.model.requestsFor(prompt);
    expect(JSON.stringify(request?.body)).toMatch(/iVBORw0KGgo=.*JVBERi0=/);
  });

  it('thinking, and back', async () => {
    const script = `
said = user("Think of the answer.")
thinking = {"type": "adaptive"}
with messages.stream(**asked, messages=said, thinking=thinking) as stream:
    final = stream.get_final_message()
said += [{"role": "assistant", "content": final.content}] + user("Repeat what was said.")
after = messages.create(**asked, messages=said, thinking=thinking)
show(thought=final.content[0].thinking, signed=len(final.content[0].signature) > 0, text=after.content[-1].text)
`;
    expect(await python(script)).toEqual({
      thought: 'The question is known.',
      signed: true,
      text: 'user: Think of the answer. | assistant: Forty-two. | user: Repeat what was said.',
    });
  });

  it('`count_tokens` and `models.list`', async () => {
    const script = `
counted = messages.count_tokens(model="scripted", messages=user("Hello."))
show(some=counted.input_tokens > 0, there="scripted" in [model.id for model in client.models.list()])
`;
    expect(await python(script)).toEqual({ some: true, there: true });
  });

  it('an answer that was cut short', async () => {
    const script = `
message = messages.create(model="simulator", max_tokens=5, messages=user("Go on. [[sluice: tokens=100]]"))
show(stop=message.stop_reason)
`;
    expect(await python(script)).toEqual({ stop: 'max_tokens' });
  });

  it('errors: 400 and 401', async () => {
    const script = `
try:
    messages.create(model="nobody", max_tokens=10, messages=user("Hello."))
except anthropic.BadRequestError as error:
    details = error.body["error"]["details"]
    bad = [error.status_code, details["error_code"], details["param"], error.request_id[:4]]
try:
    anthropic.Anthropic(api_key="sk-unknown").messages.create(**asked, messages=user("Hello."))
except anthropic.AuthenticationError as error:
    show(bad=bad, key=error.status_code)
`;
    expect(await python(script)).toEqual({ bad: [400, 'model_not_found', 'model', 'req_'], key: 401 });
  });

  it('429 as a `RateLimitError`', async () => {
    const script = `
messages.create(model="simulator", max_tokens=10, messages=user("The only one."))
try:
    messages.create(model="simulator", max_tokens=10, messages=user("One too many."))
except anthropic.RateLimitError as error:
    show(wait=int(error.response.headers["retry-after"]) >= 1)
`;
    expect(await python(script, oneRequestKeys[mount])).toEqual({ wait: true });
  });

  it('a stream that fails on the way', async () => {
    const script = `
text = ""
try:
    with messages.stream(**asked, messages=user("Break.")) as stream:
        for piece in stream.text_stream:
            text += piece
except anthropic.APIError as error:
    show(text=text, code=error.body["error"]["details"]["error_code"])
`;
    expect(await python(script)).toEqual({ text: 'It was a dark ', code: 'upstream_error' });
  });

  it('leaving a stream cancels the response', async () => {
    const prompt = onlyPrompt('Stall');
    const script = `
with messages.stream(**asked, messages=user("${prompt}")) as stream:
    show(first=next(stream.text_stream))
`;
    expect(await python(script)).toEqual({ first: 'Well, ' });
    expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
  });

  testBrokenConnections({
    site,
    mount,
    cutError: 'RemoteProtocolError',
    cutRemark: 'It raises the `RemoteProtocolError` of httpx, which is no `APIError`.',
    ...askInPython({
      session,
      beginning,
      address: ({ baseUrl }) => baseUrl.replace(/\/v1$/, ''),
      create: 'messages.create(**asked, messages=user(prompt), extra_headers=once, stream=stream)',
      whole: 'answer.content[0].text',
      piece: 'part.delta.text if part.type == "content_block_delta" else ""',
    }),
  });
});
