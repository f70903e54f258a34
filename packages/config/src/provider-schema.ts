import { isBuiltin } from 'node:module';
import { z } from 'zod';
import { upstreamVariable } from './upstream-keys.ts';
import { credential, milliseconds, plainName, text, wholeNumber } from './value-schemas.ts';

const id = plainName().meta({ description: 'Name of the provider in `routes` and in logs.' });

const simulator = z.strictObject({
  type: z.literal('simulator'),
  id,
  firstTokenMs: milliseconds(0).default(20).meta({ description: 'Delay before the first token.' }),
  tokensPerSecond: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(200)
    .meta({ description: 'Speed of the answer. 0 is as fast as possible.', unit: 'tokens/s' }),
  seed: wholeNumber(0, 2 ** 32 - 1)
    .default(1)
    .meta({ description: 'Simulators with the same seed give the same answer to the same request.' }),
  reasoning: z.boolean().default(false).meta({ description: 'Whether answers begin with a reasoning item.' }),
});

/** Most servers of one provider. */
export const mostServers = 256;

const baseUrl = addressOfServer().exactOptional().meta({
  description:
    'Address of the API, such as `http://127.0.0.1:8000/v1`. Paths are appended to it. Required without `replicas`.',
});

const replicas = z.array(addressOfServer()).min(1).max(mostServers).exactOptional().meta({
  description:
    'Addresses of several servers that serve the same models, in place of `baseUrl`. Each call goes to one of them, chosen by its conversation and by load; see [upstreams.md](upstreams.md#several-servers).',
});

const resolve = z.boolean().default(false).meta({
  description:
    'Whether every address that the host of `baseUrl` resolves to is a server of its own, as behind a headless service of Kubernetes. Workers resolve it again every five seconds.',
});

/** Headers that the HTTP client sets itself, or that would break the framing of a request. */
const reservedHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, 'is not a name of an HTTP header')
  .refine((name) => !reservedHeaders.has(name.toLowerCase()), 'is set by the service itself; remove it');

const pressure = z
  .strictObject({
    adaptive: z.boolean().default(true).meta({
      description:
        'Whether a worker calls the upstream less often when it refuses calls because there are too many (429, or 503 and 529), and more often again when it takes them. An upstream that refuses none is never held back.',
    }),
    floor: wholeNumber(1, 10_000).default(1).meta({
      description:
        'Calls at a time, from each worker and for each model, that are always allowed. The most are the slots of the worker.',
    }),
    latencyTolerance: z.number().min(1.2).max(100).exactOptional().meta({
      description:
        'Lowers the number of calls at a time as well when the time to first token is this multiple of what is usual for prompts of that size, such as 3. Without it, latency has no effect.',
    }),
  })
  .prefault({})
  .meta({ description: 'How the worker answers to an upstream that has too much to do.' });

const saturation = z
  .strictObject({
    metricsUrl: addressOfServer().meta({
      description:
        "Address of the upstream's metrics in Prometheus' text format, such as `http://127.0.0.1:8000/metrics`. `apiKey` and `headers` are sent with it if it has the host of `baseUrl`. With `replicas`, that of any of them: each is read at this path of its own host.",
    }),
    metric: z
      .string()
      .regex(/^[A-Za-z_:][A-Za-z0-9_:]{0,199}$/, 'must be the name of a metric, without labels')
      .default('vllm:num_requests_waiting')
      .meta({
        description:
          'The metric that counts the requests that wait there. Series whose `model_name` is the model of the route are added up, or all when there are none.',
      }),
    most: wholeNumber(0, 1_000_000).default(4).meta({
      description: 'While more wait there than this, workers take no further jobs for its models.',
    }),
    everyMs: milliseconds(100).default(1000).meta({
      description:
        'How often each worker reads it, and how long that may take. When it cannot be read, nothing is held back.',
    }),
  })
  .exactOptional()
  .meta({
    description:
      "Holds work back in the queue while the upstream's own queue is too long. Without it, nobody asks the upstream.",
  });

const timeouts = {
  connectMs: milliseconds().exactOptional().meta({ description: 'Overrides `timeouts.connectMs`.' }),
  firstTokenMs: milliseconds().exactOptional().meta({ description: 'Overrides `timeouts.firstTokenMs`.' }),
  idleMs: milliseconds().exactOptional().meta({ description: 'Overrides `timeouts.idleMs`.' }),
};

const fetchesUrls = z.boolean().default(false).meta({
  description:
    'Whether media URLs from clients are passed to the upstream. It fetches them from inside your network.',
});

const discover = z.boolean().default(false).meta({
  description:
    'Whether the models that the upstream lists at `GET /models` are offered, too, under its names for them. They come and go with that list, while the service runs. A model of the same `id` under `models` wins.',
});

const discovery = z
  .strictObject({
    everyMs: milliseconds(1000)
      .default(60_000)
      .meta({ description: 'How often a worker asks for the list, one for all of them.' }),
    keepMs: milliseconds(1000).default(600_000).meta({
      description: 'For how long the models stay that were listed last when the upstream does not answer.',
    }),
    models: z
      .array(
        z
          .string()
          .regex(
            /^[^\s\p{Cc}]{1,256}$/u,
            'must be a name, in which * stands for any characters, without spaces',
          ),
      )
      .min(1)
      .max(100)
      .exactOptional()
      .meta({
        description:
          'Names of the models that are offered, such as `[qwen3:8b, "llama*"]`; `*` stands for any characters. All unless given.',
      }),
    concurrency: wholeNumber(1, 1_000_000).exactOptional().meta({
      description:
        'Most requests that run at a time, over all workers and all discovered models of the provider. They share the queue that is named after it.',
    }),
  })
  .prefault({})
  .meta({ description: 'How the models of an upstream with `discover` are found.' });

const upstream = {
  id,
  baseUrl,
  replicas,
  resolve,
  apiKey: credential().exactOptional().meta({ description: 'Sent as `Authorization: Bearer`.' }),
  headers: z
    .record(headerName, text().meta({ secret: true }))
    .default({})
    .meta({ description: 'Sent with each request to this provider.' }),
  ...timeouts,
  fetchesUrls,
  discover,
  discovery,
  pressure,
  saturation,
};

const openaiChat = z.strictObject({
  type: z.literal('openai-chat'),
  ...upstream,
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).exactOptional().meta({
    description:
      'The name under which `max_output_tokens` is sent. Without it, `max_completion_tokens` to OpenAI and Azure, and `max_tokens` to all others.',
  }),
  reasoningField: z.enum(['reasoning', 'reasoning_content']).exactOptional().meta({
    description:
      "The member of the assistant's messages under which earlier reasoning is sent back, where a client has sent it or kept it encrypted. vLLM and OpenRouter read `reasoning`, DeepSeek and llama.cpp `reasoning_content`. Without it, none is sent.",
  }),
  cacheControl: z.boolean().default(false).meta({
    description:
      'Whether the marks of clients for caches (`cache_control`) are sent on, at parts of messages, tools, calls and outputs. LiteLLM and OpenRouter take them. Other servers have no use for them, and some refuse them.',
  }),
});
const openaiResponses = z.strictObject({ type: z.literal('openai-responses'), ...upstream });

const llamaCpp = z.strictObject({
  type: z.literal('llama-cpp'),
  id,
  modelPath: text()
    .refine((path) => /\.gguf$/i.test(path), 'must be the path of a .gguf file')
    .meta({
      description:
        'The GGUF file of the model. A relative path starts at the working directory. The first file of a model in parts.',
    }),
  contextTokens: wholeNumber(256, 1_048_576).default(4096).meta({
    description:
      'Prompt and answer together, of each response. More takes more memory. The most are those that the model was trained with.',
    unit: 'tokens',
  }),
  threads: wholeNumber(1, 1024).exactOptional().meta({
    description:
      'Threads that compute. Without it, one less than the processors that the worker may use, and at least one.',
  }),
  parallel: wholeNumber(1, 64).default(1).meta({
    description:
      'Responses that each worker generates at once; further ones wait in line. Each has a context of its own in memory.',
  }),
  gpu: z.enum(['auto', 'off']).default('auto').meta({
    description: '`auto` uses a GPU that is there, `off` computes on processors alone.',
  }),
});

const aiSdk = z.strictObject({
  type: z.literal('ai-sdk'),
  id,
  package: z
    .string()
    .max(214)
    .regex(/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/, 'must be the name of an npm package')
    .refine((name) => !isBuiltin(name), 'is a module of Node.js; name a package such as @ai-sdk/anthropic')
    .meta({
      description:
        "A vendor's package for the AI SDK, such as `@ai-sdk/anthropic`. Install it where Sluice is installed: `npm install @ai-sdk/anthropic`.",
    }),
  factory: z
    .string()
    .regex(/^[A-Za-z_$][\w$]{0,99}$/, 'must be the name of an export')
    .exactOptional()
    .meta({
      description:
        'The export of the package that makes its provider. Without it, the only function whose name begins with `create`.',
    }),
  options: z.record(z.string().min(1).max(100), z.unknown()).default({}).meta({
    description:
      'The options of the factory, in the words of the package, such as `apiKey`, `baseURL` and `headers`.',
    secret: true,
  }),
  ...timeouts,
  fetchesUrls,
  pressure,
});

/** An upstream, told apart by `type`. */
export const providerSchema = z.discriminatedUnion('type', [
  simulator,
  openaiChat,
  openaiResponses,
  aiSdk,
  llamaCpp,
]);

/** A stored provider has this in place of secrets. */
const keyByName = {
  apiKeyVariable: z
    .string()
    .regex(upstreamVariable, 'must be UPSTREAM_ and 1 to 64 capital letters, digits or underscores')
    .exactOptional()
    .meta({ description: 'The environment variable of the workers that holds the key.' }),
};

/** A provider that operators store in Redis: of a kind that needs nothing on the machine of a worker, and without secrets. */
export const storedProviderSchema = z.discriminatedUnion('type', [
  simulator,
  openaiChat.omit({ apiKey: true, headers: true }).extend(keyByName),
  openaiResponses.omit({ apiKey: true, headers: true }).extend(keyByName),
]);

/** The members of a stored provider, in the names of `providers[]`, as its operator gave them. */
export type StoredProvider = z.input<typeof storedProviderSchema>;

function addressOfServer() {
  return z.string().superRefine((value, context) => {
    const message = faultOfBaseUrl(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

function faultOfBaseUrl(value: string): string | undefined {
  if (!URL.canParse(value)) return 'must be an address such as http://127.0.0.1:8000/v1';
  const url = new URL(value);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http:// or https://';
  if (url.username !== '' || url.password !== '') {
    return 'must not hold a user name or password; give `apiKey` or `headers`';
  }
  if (/[?#]/.test(value)) return 'must end with the path; remove the part from "?" or "#" on';
  return undefined;
}
