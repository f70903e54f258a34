import type { Target } from './load/order.ts';
import type { BenchService } from './service.ts';
import { modelName, type NoOpModel, token } from './upstream/no-op-answer.ts';

/** A prompt of two sentences, like a short question to a model. */
const prompt =
  'Summarise in one sentence what a queue in front of a model server is good for. ' +
  'Write for somebody who has run out of patience with errors that say: too many requests.';

const json = { 'content-type': 'application/json' };

/** The upstream itself, called directly. */
export function directTarget(upstreamUrl: string, model: NoOpModel): Target {
  return {
    origin: upstreamUrl,
    path: '/v1/chat/completions',
    headers: json,
    body: JSON.stringify({
      model: modelName(model),
      messages: [{ role: 'user', content: prompt }],
      stream: true,
      stream_options: { include_usage: true },
    }),
    mark: `"content":"${token}`,
    marks: model.tokens,
    ending: 'data: [DONE]\n\n',
  };
}

/** The api of a pattern that Sluice is compared with. */
export function generateTarget(url: string): Target {
  return {
    origin: url,
    path: '/generate',
    headers: json,
    body: JSON.stringify({ prompt }),
    mark: `"output_text":"${token}`,
    marks: 1,
    ending: '}',
  };
}

/** The same for a caller who does not wait for the answer. */
export function acceptTarget(url: string): Target {
  return { ...generateTarget(url), path: '/accept', mark: '"status":"queued"' };
}

/** A stream of such an api, whose bytes are those of the upstream. */
export function relayTarget(url: string, model: NoOpModel): Target {
  return {
    ...directTarget(url, model),
    path: '/stream',
    body: JSON.stringify({ prompt, model: modelName(model) }),
  };
}

/** A synchronous response, by default to a short question. */
export function wholeTarget(
  service: BenchService,
  model: NoOpModel,
  body: object = { input: prompt },
): Target {
  return {
    ...sluiceTarget(service, { model: modelName(model), ...body }),
    mark: `"output_text":"${token}`,
    marks: 1,
    ending: '}',
  };
}

/** A streamed response. */
export function streamTarget(service: BenchService, model: NoOpModel): Target {
  return {
    ...sluiceTarget(service, { model: modelName(model), input: prompt, stream: true }),
    mark: 'event: response.output_text.delta\n',
    marks: model.tokens,
    ending: 'data: [DONE]\n\n',
  };
}

/** A response in the background. The answer says that it was accepted. */
export function backgroundTarget(service: BenchService, model: NoOpModel): Target {
  return {
    ...sluiceTarget(service, { model: modelName(model), input: prompt, background: true }),
    mark: '"status":"queued"',
    marks: 1,
    ending: '}',
  };
}

function sluiceTarget({ url, key }: BenchService, body: object): Omit<Target, 'mark' | 'marks' | 'ending'> {
  return {
    origin: url,
    path: '/v1/responses',
    headers: { ...json, authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  };
}
