import { upstreamToolTypes } from '@sluice/contract';
import { z } from 'zod';
import { modelName, money, text, wholeNumber } from './value-schemas.ts';

const mostTokens = 1_000_000_000;

const routeSchema = z.strictObject({
  provider: z.string().min(1).meta({ description: 'The `id` of a provider.' }),
  model: text(256).exactOptional().meta({
    description: 'Name of the model at that provider. The `id` of the model unless given.',
  }),
});

const price = () => money(0, 1_000_000);

/** The price of the tokens of a model. */
const priceSchema = z.strictObject({
  input: price().meta({ description: 'Of a million tokens of input.' }),
  cachedInput: price().exactOptional().meta({
    description:
      'Of a million tokens of input that came from a cache of the upstream. As `input` unless given.',
  }),
  cacheWrite: price().exactOptional().meta({
    description: 'Of a million tokens of input that were written to one. As `input` unless given.',
  }),
  output: price().meta({ description: 'Of a million tokens of output, reasoning included.' }),
});

/** Prices of a million tokens, in the currency of the settings. */
export type ModelPrice = z.output<typeof priceSchema>;

/** A model that clients may name, and where its requests go. */
export const modelSchema = z.strictObject({
  id: modelName().meta({ description: 'The name that clients send as `model`.' }),
  routes: z.array(routeSchema).min(1).max(32).meta({
    description:
      'In order of preference. One that is down, parked, or has failed for the response gives way to the next, as long as no output is visible. A simulator can only be the first, because invented text is no fallback.',
  }),
  concurrency: wholeNumber(1, 1_000_000).exactOptional().meta({
    description:
      'Most requests that run at a time, over all workers. Without it, as many as the workers have slots.',
  }),
  contextTokens: wholeNumber(1, mostTokens).exactOptional().meta({
    description:
      'Size of the context. An input that has more tokens, by the estimate of one for every four bytes of text, is refused before anything is called, or loses its oldest items where the client says `truncation: auto`. Without it, the upstream decides.',
    unit: 'tokens',
  }),
  maxOutputTokens: wholeNumber(1, mostTokens).exactOptional().meta({
    description:
      'Most tokens of output. A request may not ask for more, and one that names none gets as many. They count against token limits until it is known how many there were.',
    unit: 'tokens',
  }),
  price: priceSchema.exactOptional().meta({
    description:
      'What its tokens cost, in `usage.currency`. A response has the price of its accept. Usage and `spendPerDay` and `spendPerMonth` of tenants go by it; without one it costs nothing.',
  }),
  tokenizer: z.enum(['o200k_base', 'cl100k_base']).exactOptional().meta({
    description:
      "How `POST /responses/input_tokens` counts the tokens of an input. Without it, as for OpenAI's model where all routes name one, and else by an estimate.",
  }),
  hostedTools: z.array(z.enum(upstreamToolTypes)).max(upstreamToolTypes.length).exactOptional().meta({
    description:
      'Tools that all of its upstreams run by themselves, such as `[web_search]`. They are passed on, to `openai-responses` alone; any other tool that is not a function or custom tool is refused.',
  }),
  queue: modelName().exactOptional().meta({
    description:
      'Name of the queue. The `id` unless given. Models with the same queue share its concurrency.',
  }),
});

export const modelsSchema = z.array(modelSchema).max(10_000).default([]).meta({
  description:
    'The models that clients may name. There must be one, unless a provider has `discover`. Changes of models and providers take effect while the service runs.',
});
