import { describe, expect, it } from 'vitest';
import { clientSite, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { hasPython, pythonSession } from './python-session.ts';
import { remark } from './remark.ts';

const hasPackage = hasPython('openai');

const site = clientSite();

describe.skipIf(!hasPackage).each(mounts)('openai for Python at $mount', ({ mount, object }) => {
  const session = pythonSession('openai', () => site.baseUrl(mount));
  const python = (script: string, key = site.key) => session.run(script, key);

  it('`create` and `retrieve`', async () => {
    const script = `
created = responses.create(model="scripted", input="Tell me of Bergen.", metadata={"a": "b"})
read = responses.retrieve(created.id)
show(object=created.object, text=created.output_text, same=read.output_text == created.output_text,
     tokens=created.usage.total_tokens, metadata=read.metadata, request=created._request_id[:4])
`;
    expect(await python(script)).toEqual({
      object,
      text: 'Bergen lies between seven mountains.',
      same: true,
      tokens: 18,
      metadata: { a: 'b' },
      request: 'req_',
    });
  });

  it('`create` with `stream=True`', async () => {
    const script = `
events = list(responses.create(model="scripted", input="Tell me of Bergen.", stream=True))
text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
show(first=events[0].type, last=events[-1].type, text=text)
`;
    expect(await python(script)).toEqual({
      first: 'response.created',
      last: 'response.completed',
      text: 'Bergen lies between seven mountains.',
    });
  });

  it('`stream` with `get_final_response`', async () => {
    const script = `
with responses.stream(model="scripted", input="Tell me of Bergen.") as stream:
    text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
    final = stream.get_final_response()
show(text=text, same=final.output_text == text, status=final.status)
`;
    expect(await python(script)).toEqual({
      text: 'Bergen lies between seven mountains.',
      same: true,
      status: 'completed',
    });
  });

  it('`parse` with a pydantic model', async () => {
    const script = `
from pydantic import BaseModel
class Person(BaseModel):
    name: str
    age: int
parsed = responses.parse(model="scripted", input="Describe a person.", text_format=Person).output_parsed
show(name=parsed.name, age=parsed.age)
`;
    expect(await python(script)).toEqual({ name: 'Ada', age: 36 });
  });

  it.each(['scripted', 'scripted-chat'])('tools in several steps, with %s', async (model) => {
    const script = `
weather = {
    "type": "function", "name": "get_weather", "strict": True,
    "parameters": {
        "type": "object", "properties": {"place": {"type": "string"}},
        "required": ["place"], "additionalProperties": False,
    },
}
items = [{"role": "user", "content": "Compare the weather in two places."}]
for step in range(5):
    answer = responses.create(model="${model}", input=items, tools=[weather])
    items += answer.output
    calls = [item for item in answer.output if item.type == "function_call"]
    if not calls:
        break
    for call in calls:
        place = json.loads(call.arguments)["place"]
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": "rain in " + place})
show(text=answer.output_text, steps=step + 1)
`;
    expect(await python(script)).toEqual({
      text: 'The tools say: rain in Bergen and rain in Oslo.',
      steps: 3,
    });
  });

  it('`previous_response_id` and `input_items.list`', async () => {
    const script = `
first = responses.create(model="scripted", input="My name is Ada.")
second = responses.create(model="scripted", input="Repeat what was said.", previous_response_id=first.id)
show(text=second.output_text, items=[item.content[0].text for item in responses.input_items.list(second.id)])
`;
    expect(await python(script)).toEqual({
      text: 'user: My name is Ada. | assistant: Bergen lies between seven mountains. | user: Repeat what was said.',
      items: ['Repeat what was said.'],
    });
  });

  it('`background`, polling, and a stream after an event', async () => {
    const script = `
slowly = "Count. [[sluice: tokens=40 tokens_per_second=200]]"
created = responses.create(model="simulator", input=slowly, background=True)
response = created
while response.status in ("queued", "in_progress"):
    time.sleep(0.05)
    response = responses.retrieve(created.id)
rest = list(responses.retrieve(created.id, stream=True, starting_after=3))
show(first=created.status, last=response.status, number=rest[0].sequence_number, end=rest[-1].type)
`;
    expect(await python(script)).toEqual({
      first: 'queued',
      last: 'completed',
      number: 4,
      end: 'response.completed',
    });
  });

  it('`cancel` and `delete`', async () => {
    const prompt = onlyPrompt('Stall');
    const script = `
created = responses.create(model="scripted", input="${prompt}", background=True)
cancelled = responses.cancel(created.id)
responses.delete(created.id)
try:
    responses.retrieve(created.id)
except openai.NotFoundError as error:
    show(status=cancelled.status, code=error.code)
`;
    expect(await python(script)).toEqual({ status: 'cancelled', code: 'not_found' });
  });

  it('errors: 400 and 401', async () => {
    const script = `
try:
    responses.create(model="simulator", input="Hello.", temperature=3)
except openai.BadRequestError as error:
    bad = [error.status_code, error.code, error.param, error.request_id[:4]]
try:
    openai.OpenAI(api_key="sk-unknown").responses.create(model="simulator", input="Hello.")
except openai.AuthenticationError as error:
    show(bad=bad, key=[error.status_code, error.code])
`;
    expect(await python(script)).toEqual({
      bad: [400, 'decimal_above_max_value', 'temperature', 'req_'],
      key: [401, 'invalid_api_key'],
    });
  });

  it('429 as a `RateLimitError`', async () => {
    const script = `
responses.create(model="simulator", input="The only one.")
try:
    responses.create(model="simulator", input="One too many.")
except openai.RateLimitError as error:
    show(code=error.code, wait=int(error.response.headers["retry-after"]) >= 1)
`;
    expect(await python(script, oneRequestKeys[mount])).toEqual({ code: 'rate_limit_exceeded', wait: true });
  });

  it('a stream that fails on the way', async () => {
    const script = `
try:
    for event in responses.create(model="scripted", input="Break.", stream=True):
        last = event.type
except openai.APIError as error:
    show(code=error.code, last=last)
`;
    expect(await python(script)).toEqual({ code: 'upstream_error', last: 'response.output_item.done' });
  });

  it('a stream that was cut short', async (context) => {
    const script = `
with responses.stream(model="simulator", input="Go on. [[sluice: tokens=99]]", max_output_tokens=16) as stream:
    last = [event for event in stream][-1]
    try:
        stream.get_final_response()
        raised = None
    except RuntimeError as error:
        raised = str(error)
show(last=last.type, raised=raised)
`;
    expect(await python(script)).toMatchObject({
      last: 'response.incomplete',
      raised: expect.stringContaining('response.completed'),
    });
    remark(
      context,
      '`get_final_response` raises a `RuntimeError`: the package knows `response.completed` alone.',
    );
  });
});

describe.skipIf(!hasPackage).each(mounts)('openai for Python with embeddings at $mount', ({ mount }) => {
  const session = pythonSession('openai', () => site.baseUrl(mount));
  const python = (script: string) => session.run(script, site.key);

  it('`create`, which asks for base64, and with numbers', async () => {
    const script = `
said = ["Hello!", "Good bye!"]
packed = client.embeddings.create(model="simulator", input=said)
plain = client.embeddings.create(model="simulator", input=said, encoding_format="float")
show(indexes=[each.index for each in packed.data], length=len(packed.data[0].embedding),
     same=packed.data[1].embedding == plain.data[1].embedding, tokens=packed.usage.prompt_tokens > 0)
`;
    expect(await python(script)).toEqual({ indexes: [0, 1], length: 256, same: true, tokens: true });
  });

  it('`dimensions` and tokens', async () => {
    const script = `
made = client.embeddings.create(model="simulator", input=[[1, 2], [3]], dimensions=8)
show(lengths=[len(each.embedding) for each in made.data])
`;
    expect(await python(script)).toEqual({ lengths: [8, 8] });
  });

  it('400 with its code', async () => {
    const script = `
try:
    client.embeddings.create(model="simulator", input=["Hello!", ""])
except openai.BadRequestError as error:
    show(code=error.code, param=error.param)
`;
    expect(await python(script)).toEqual({ code: 'invalid_value', param: 'input[1]' });
  });
});
