import type { Problem } from './config-error.ts';
import { type Environment, readVariable } from './environment-variables.ts';

/** The samplers of traces, by the names of OpenTelemetry. */
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Where spans go, and which. Present only where traces are switched on. */
export interface TraceSettings {
  /** The whole address, its path included. */
  endpoint: string;
  /** Sent with each export. They may hold a secret. */
  headers: Record<string, string>;
  protocol: 'http/protobuf' | 'http/json';
  compression: 'gzip' | 'none';
  /** The time-out of one export, in milliseconds. */
  timeoutMs: number;
  /** Name of the service in its traces; undefined for a name by the role of the process. */
  serviceName: string | undefined;
  /** Further attributes of the process. */
  resource: Record<string, string>;
  sampler: { name: (typeof samplers)[number]; ratio: number };
  /** Whether `traceparent` is taken from callers and sent to upstreams. */
  propagates: boolean;
  batch: {
    /** Most spans that wait to be sent; further ones are dropped. */
    most: number;
    /** Spans of one export. */
    size: number;
    /** How long spans are gathered, in milliseconds. */
    delayMs: number;
  };
}

/** A variable of OpenTelemetry that is heeded. */
export interface TraceVariable {
  name: string;
  default: string;
  description: string;
}

/** TRACE VARIABLES, in the order of the reference. Their names and meanings are those of OpenTelemetry. */
export const traceVariables: readonly TraceVariable[] = [
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: '',
    description:
      'The OTLP receiver, such as `http://127.0.0.1:4318`. Spans go to `v1/traces` below it. Without it there are no traces.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    default: '',
    description: 'The whole address for spans, in its place.',
  },
  { name: 'OTEL_SDK_DISABLED', default: 'false', description: '`true` switches traces off.' },
  { name: 'OTEL_TRACES_EXPORTER', default: 'otlp', description: '`otlp`, or `none` for no traces.' },
  {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    default: 'http/protobuf',
    description: '`http/protobuf` or `http/json`.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    default: '',
    description: 'Headers of each export, such as `authorization=Bearer%20secret,other=value`.',
  },
  { name: 'OTEL_EXPORTER_OTLP_COMPRESSION', default: 'none', description: '`gzip` or `none`.' },
  {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    default: '10000',
    description: 'How long an export may take, in milliseconds. What does not arrive in time is dropped.',
  },
  {
    name: 'OTEL_SERVICE_NAME',
    default: 'sluice-api, sluice-worker',
    description: 'Name of the service in its traces, by role where it is not set.',
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    default: '',
    description: 'Further attributes of each process, such as `deployment.environment.name=production`.',
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    default: 'parentbased_always_on',
    description: `${samplers.map((name) => `\`${name}\``).join(', ')}. Those without \`parentbased\` do not heed what callers ask for.`,
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    default: '1',
    description: 'The share that `traceidratio` samples, from 0 to 1.',
  },
  {
    name: 'OTEL_PROPAGATORS',
    default: 'tracecontext',
    description:
      '`none` takes no `traceparent` from callers and sends none to upstreams. Others than `tracecontext` are not known.',
  },
  {
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    default: '2048',
    description: 'Spans that wait to be sent in each process. What is more is dropped.',
  },
  { name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', default: '512', description: 'Most spans of one export.' },
  {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    default: '5000',
    description: 'How long spans are gathered for an export, in milliseconds.',
  },
];

/** Variables that may be set for spans alone, with `TRACES_` in their names. */
const ofSpans = /^OTEL_EXPORTER_OTLP_(PROTOCOL|HEADERS|COMPRESSION|TIMEOUT)$/;

/**
 * Reads the variables of OpenTelemetry. Undefined settings without an endpoint, and where traces are switched off: nothing
 * else is looked at then.
 */
export function readTraceSettings(env: Environment): {
  traces: TraceSettings | undefined;
  problems: Problem[];
} {
  const reader = new TraceReader(env);
  if (reader.text('OTEL_SDK_DISABLED').toLowerCase() === 'true') return { traces: undefined, problems: [] };
  const endpoint = reader.endpoint();
  const exporter = reader.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none'] as const);
  if (endpoint === undefined || exporter === 'none') return { traces: undefined, problems: reader.problems };
  const most = reader.count('OTEL_BSP_MAX_QUEUE_SIZE', 1);
  const traces = {
    endpoint,
    headers: reader.pairs('OTEL_EXPORTER_OTLP_HEADERS'),
    protocol: reader.oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', ['http/protobuf', 'http/json'] as const),
    compression: reader.oneOf('OTEL_EXPORTER_OTLP_COMPRESSION', ['none', 'gzip'] as const),
    timeoutMs: reader.count('OTEL_EXPORTER_OTLP_TIMEOUT', 1),
    serviceName: readVariable(env, 'OTEL_SERVICE_NAME'),
    resource: reader.pairs('OTEL_RESOURCE_ATTRIBUTES'),
    sampler: {
      name: reader.oneOf('OTEL_TRACES_SAMPLER', samplers),
      ratio: reader.number('OTEL_TRACES_SAMPLER_ARG', { from: 0, to: 1 }),
    },
    propagates: reader.list('OTEL_PROPAGATORS').includes('tracecontext'),
    batch: {
      most,
      size: Math.min(reader.count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1), most),
      delayMs: reader.count('OTEL_BSP_SCHEDULE_DELAY', 0),
    },
  };
  return { traces, problems: reader.problems };
}

/** Reads variables one by one and gathers their problems. No problem repeats a value: it may be a secret. */
class TraceReader {
  readonly problems: Problem[] = [];
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  endpoint(): string | undefined {
    const own = readVariable(this.#env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
    const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
    const text = this.#find(name)?.trim();
    if (text === undefined) return undefined;
    const url = URL.parse(text);
    if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      return this.#wrong(name, 'must be an address that begins with http:// or https://', undefined);
    }
    if (url.username !== '' || url.password !== '') {
      return this.#wrong(name, 'must hold no user name; use OTEL_EXPORTER_OTLP_HEADERS', undefined);
    }
    if (own === undefined) url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`;
    return url.href;
  }

  /** The value of a variable, or its default. */
  text(name: string): string {
    return this.#find(name)?.trim() ?? defaultOf(name);
  }

  oneOf<const Known extends string>(name: string, known: readonly Known[]): Known {
    const text = this.text(name);
    const found = known.find((each) => each === text);
    if (found !== undefined) return found;
    const [first] = known;
    if (first === undefined) throw new TypeError(`${name} has no values`);
    return this.#wrong(name, `must be one of ${known.join(', ')}`, first);
  }

  list(name: string): string[] {
    return this.text(name)
      .split(',')
      .map((each) => each.trim());
  }

  count(name: string, from: number): number {
    const value = this.number(name, { from, to: Number.MAX_SAFE_INTEGER });
    if (Number.isInteger(value)) return value;
    return this.#wrong(name, 'must be a whole number', from);
  }

  number(name: string, { from, to }: { from: number; to: number }): number {
    const value = Number(this.text(name));
    if (value >= from && value <= to) return value;
    const range = to === Number.MAX_SAFE_INTEGER ? `a number from ${from}` : `a number from ${from} to ${to}`;
    return this.#wrong(name, `must be ${range}`, from);
  }

  /** `name=value` pairs, joined by commas, with percent-encoded values. */
  pairs(name: string): Record<string, string> {
    const pairs: Record<string, string> = {};
    for (const pair of this.list(name).filter((each) => each !== '')) {
      const at = pair.indexOf('=');
      const key = pair.slice(0, Math.max(at, 0)).trim();
      const value = decode(pair.slice(at + 1).trim());
      if (
        !/^[\w.!#$%&'*+^`|~-]+$/.test(key) ||
        value === undefined ||
        /[^\t\x20-\x7e\x80-\uffff]/.test(value)
      ) {
        return this.#wrong(name, 'must be pairs such as name=value, joined by commas', {});
      }
      pairs[key] = value;
    }
    return pairs;
  }

  #find(name: string): string | undefined {
    const own = ofSpans.test(name) ? name.replace('OTLP_', 'OTLP_TRACES_') : name;
    return readVariable(this.#env, own) ?? readVariable(this.#env, name);
  }

  #wrong<Value>(name: string, message: string, instead: Value): Value {
    this.problems.push({ path: name, message });
    return instead;
  }
}

function defaultOf(name: string): string {
  return traceVariables.find((variable) => variable.name === name)?.default ?? '';
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
