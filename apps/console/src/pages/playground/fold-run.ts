/** The state of a run so far. Times are milliseconds since it was sent. */
export interface Run {
  state: 'running' | 'done' | 'failed' | 'stopped';
  id: string | undefined;
  status: string | undefined;
  /** The place in its queue, beginning with 1, while it waits and the service says so. */
  position: number | undefined;
  text: string;
  /** The calls that the model asks the client for, in order. */
  calls: readonly RunCall[];
  events: number;
  firstTokenMs: number | undefined;
  tookMs: number | undefined;
  outputTokens: number | undefined;
  error: unknown;
}

export interface RunCall {
  name: string;
  /** JSON for a function; any text for a custom tool. */
  arguments: string;
}

export const newRun: Run = {
  state: 'running',
  id: undefined,
  status: undefined,
  position: undefined,
  text: '',
  calls: [],
  events: 0,
  firstTokenMs: undefined,
  tookMs: undefined,
  outputTokens: undefined,
  error: undefined,
};

/** The members of a response that the console reads; the API's own schema has the rest. */
export interface ResponseBody {
  id?: string;
  status?: string;
  queue_position?: number | null;
  output?: readonly OutputItem[];
  output_text?: string;
  usage?: { output_tokens?: number } | null;
  error?: { code?: string; message?: string } | null;
}

interface OutputItem {
  type?: string;
  name?: string;
  arguments?: string;
  input?: string;
}

/** Whether a response will change no more. */
export const isEnded = (status: string | undefined) =>
  status !== undefined && status !== 'queued' && status !== 'in_progress';

/** The part of a run that one event changes. */
export function takeEvent(run: Run, event: Readonly<Record<string, unknown>>, elapsedMs: number): Run {
  const next = { ...run, events: run.events + 1 };
  if (event['type'] === 'response.output_text.delta' && typeof event['delta'] === 'string') {
    return { ...next, text: run.text + event['delta'], firstTokenMs: run.firstTokenMs ?? elapsedMs };
  }
  if (event['type'] === 'response.output_item.done') {
    return { ...next, calls: [...run.calls, ...callsOf([event['item'] as OutputItem])] };
  }
  if (event['type'] === 'error') return { ...next, error: errorOf(event) };
  const { response } = event;
  return typeof response === 'object' && response !== null ? takeResponse(next, response) : next;
}

/** The part of a run that a whole response changes, as it is at one moment. */
export function takeResponse(run: Run, response: ResponseBody): Run {
  const { id, status, output_text: text, output, usage, error } = response;
  const calls = callsOf(output ?? []);
  return {
    ...run,
    id: id ?? run.id,
    status: status ?? run.status,
    position: response.queue_position ?? undefined,
    // An event at the beginning has an empty one.
    text: text === undefined || text === '' ? run.text : text,
    calls: calls.length > 0 ? calls : run.calls,
    outputTokens: usage?.output_tokens ?? run.outputTokens,
    error: error ? errorOf(error) : run.error,
  };
}

/** A run whose answer has come to its end, which may be before the end of the response. */
export function endRun(run: Run, tookMs: number): Run {
  const ended = { ...run, tookMs, position: undefined };
  if (run.error !== undefined || run.status === 'failed') return { ...ended, state: 'failed' };
  if (run.status === 'cancelled') return { ...ended, state: 'stopped' };
  if (isEnded(run.status)) return { ...ended, state: 'done' };
  return {
    ...ended,
    state: 'failed',
    error: new Error('The answer broke off before the response ended. Its page may have more.'),
  };
}

function callsOf(items: readonly OutputItem[]): RunCall[] {
  return items
    .filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
    .map(({ name = '', arguments: given, input }) => ({ name, arguments: given ?? input ?? '' }));
}

function errorOf({ code = 'error', message = '' }: { code?: string; message?: string }): Error {
  return new Error(`${code}: ${message}`);
}
