import { createParser } from 'eventsource-parser';
import { fetchAdmin } from '../../api/request.ts';

const playground = '/admin/v1/playground/v1';

/** What a run has come to so far. Times are milliseconds since it was sent. */
export interface Run {
  state: 'running' | 'done' | 'failed' | 'stopped';
  id: string | undefined;
  status: string | undefined;
  text: string;
  events: number;
  firstTokenMs: number | undefined;
  tookMs: number | undefined;
  outputTokens: number | undefined;
  error: unknown;
}

export const newRun: Run = {
  state: 'running',
  id: undefined,
  status: undefined,
  text: '',
  events: 0,
  firstTokenMs: undefined,
  tookMs: undefined,
  outputTokens: undefined,
  error: undefined,
};

/** What the console looks at in a response; the API's own schema has the rest. */
interface ResponseBody {
  id?: string;
  status?: string;
  output_text?: string;
  usage?: { output_tokens?: number } | null;
  error?: { code?: string; message?: string } | null;
}

/** The part of a run that one event, or the whole response, changes. */
export function takeEvent(run: Run, event: Record<string, unknown>, elapsedMs: number): Run {
  const next = { ...run, events: run.events + 1 };
  if (event['type'] === 'response.output_text.delta' && typeof event['delta'] === 'string') {
    return { ...next, text: run.text + event['delta'], firstTokenMs: run.firstTokenMs ?? elapsedMs };
  }
  const { response } = event;
  return typeof response === 'object' && response !== null ? takeResponse(next, response) : next;
}

export function takeResponse(run: Run, response: ResponseBody): Run {
  const { id, status, output_text: text, usage, error } = response;
  return {
    ...run,
    id: id ?? run.id,
    status: status ?? run.status,
    // An event at the beginning has an empty one.
    text: text === undefined || text === '' ? run.text : text,
    outputTokens: usage?.output_tokens ?? run.outputTokens,
    error: error ? new Error(`${error.code ?? 'error'}: ${error.message ?? ''}`) : run.error,
  };
}

/**
 * Sends a request through the playground of the service and tells what it comes to. Rejects as `fetch` does, and for every
 * answer that is an error.
 */
export async function sendRequest(
  body: Readonly<Record<string, unknown>>,
  {
    apiKey,
    signal,
    onChange,
  }: { apiKey: string; signal: AbortSignal; onChange: (change: (run: Run) => Run) => void },
): Promise<void> {
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  const answer = await fetchAdmin(`${playground}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sluice-api-key': apiKey },
    body: JSON.stringify(body),
    signal,
  });
  if (body['stream'] !== true) {
    const response = (await answer.json()) as ResponseBody; // The API's own answer.
    onChange((run) => ({ ...takeResponse(run, response), tookMs: elapsed() }));
    return;
  }
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const event = JSON.parse(data) as Record<string, unknown>; // So is each event.
      const at = elapsed();
      onChange((run) => takeEvent(run, event, at));
    },
  });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const read = await reader?.read();
    if (read === undefined || read.done) break;
    parser.feed(read.value);
  }
  onChange((run) => ({ ...run, tookMs: elapsed() }));
}
