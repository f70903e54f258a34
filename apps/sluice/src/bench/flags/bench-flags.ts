export const benchUsage = `Usage: sluice bench [flags]

Drives an endpoint of the Responses API with load, this service or another one, and reports throughput, time to first
token, latency and errors. It sends real requests: an endpoint that costs money will charge for them.

Endpoint and tenants:
  --url URL               base URL; /responses is appended [SLUICE_URL with /v1, this machine's service]
  --key [NAME=]KEY        an API key; give several for several tenants
                          [SLUICE_API_KEY, OPENAI_API_KEY, the development key of a service on this machine]
  --keys FILE             the same, one NAME=KEY in each line, out of sight of the process list
  --tenants MIX           how often each tenant asks, such as team-a=3,team-b=1 [all alike]
  --header 'NAME: VALUE'  one more header of each request; may be repeated

Content of the requests:
  --model MODEL           [that of the body in --input, else the first one that the endpoint lists]
  --mode MIX              shares of whole, stream and background, such as whole=60,stream=30,background=10
                          [stream; with --input, what each body asks for]
  --input FILE            request bodies as JSON Lines, sent in turn; lines of a batch file are fine, too; - is stdin
  --prompt TEXT           the same input in each request
  --input-tokens N        input of about so many tokens, different in each request [100]
  --max-output-tokens N   [the endpoint's default]
  --service-tier TIER     [the endpoint's default]

Load:
  --concurrency N         closed loop: so many callers, each of which sends its next request after the answer [10]
  --rate R                open loop: so many requests a second, whether answers come or not
  --arrivals KIND         open loop: poisson (gaps as of independent callers) or constant [poisson]
  --most-outstanding N    open loop: a request due while so many wait for answers is counted and not sent [10000]
  --requests N            stop after so many requests [100, unless --duration is given]
  --duration TIME         stop sending after this time, such as 30s or 5m; requests in flight are finished
  --warmup N|TIME         first send so many requests, or for so long, and count none of it [0]

Each request:
  --timeout TIME          most time from its start to its end, its retries included [10m]
  --retry N               tries 408, 429, 5xx and lost connections again, so often; obeys Retry-After [0]
  --poll-interval TIME    background: the most time between two looks at a response [1s]

  --seed N                repeats the mix, the prompts and the arrivals of a run [random, and in the report]
  --json                  prints the report as one JSON document, without a key

Latencies of the open loop begin when a request was due, not when it was sent, so an endpoint that stalls cannot hide the
requests that waited (no coordinated omission). A background response is polled to its end, and its latency is until then. A poll that is lost is
repeated, and its request is not sent again.

Ctrl-C stops sending, waits for requests in flight, and reports; a second one does not wait.
Ends with 0 when every request was answered, 1 when one was not, 2 for wrong flags, 130 after a second Ctrl-C.`;

/** The flags of `sluice bench`, as `parseFlags` takes them. */
export const benchFlags = {
  url: { type: 'string' },
  key: { type: 'string', multiple: true },
  keys: { type: 'string' },
  tenants: { type: 'string' },
  header: { type: 'string', multiple: true },
  model: { type: 'string' },
  mode: { type: 'string' },
  input: { type: 'string' },
  prompt: { type: 'string' },
  'input-tokens': { type: 'string' },
  'max-output-tokens': { type: 'string' },
  'service-tier': { type: 'string' },
  concurrency: { type: 'string' },
  rate: { type: 'string' },
  arrivals: { type: 'string' },
  'most-outstanding': { type: 'string' },
  requests: { type: 'string' },
  duration: { type: 'string' },
  warmup: { type: 'string' },
  timeout: { type: 'string' },
  retry: { type: 'string' },
  'poll-interval': { type: 'string' },
  seed: { type: 'string' },
  json: { type: 'boolean' },
} as const;

type BenchFlag = keyof typeof benchFlags;

/** The values of the flags as they were given. */
export type BenchValues = {
  [Flag in BenchFlag]?: Flag extends 'json' ? boolean : Flag extends 'key' | 'header' ? string[] : string;
};
