import type { BenchService } from './service.ts';

/** Asks the admin API as the console does. Rejects for every answer that is no success. */
export async function ask({ adminUrl }: BenchService, path: string): Promise<unknown> {
  const answer = await fetch(`${adminUrl}/admin/v1/${path}`);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** Whether the index has read the whole journal. */
export async function isLoaded(service: BenchService): Promise<boolean> {
  const { index } = (await ask(service, 'responses?limit=1')) as { index: { state: string } };
  return index.state === 'ready';
}

/** Follows all rows, and counts the bytes that it is told. */
export function follow({ adminUrl }: BenchService): { stop: () => number } {
  const left = new AbortController();
  let bytes = 0;
  const read = async () => {
    const answer = await fetch(`${adminUrl}/admin/v1/responses/events`, { signal: left.signal });
    for await (const chunk of answer.body ?? []) bytes += (chunk as Uint8Array).length;
  };
  read().catch(() => undefined); // It ends when it is stopped.
  return {
    stop: () => {
      left.abort();
      return bytes;
    },
  };
}
