import { describe, expect, it } from 'vitest';
import type { ShownResponse } from './shown-response.ts';
import { findResponses } from './find-responses.ts';
import { findByRequest } from './show-request.ts';

/** A service with so many responses, of which every tenth has failed; it answers in pages, and counts them. */
function serviceOf(count: number) {
  const all = Array.from({ length: count }, (_, at) => ({
    id: `r${at}`,
    status: at % 10 === 9 ? 'failed' : 'completed',
  }));
  const asked: string[] = [];
  const json = async (_method: string, path: string) => {
    asked.push(path);
    const query = new URLSearchParams(path.slice(1));
    const from = query.has('after') ? all.findIndex(({ id }) => id === query.get('after')) + 1 : 0;
    const data = all.slice(from, from + Number(query.get('limit')));
    return { data: data as ShownResponse[], has_more: from + data.length < count };
  };
  // The list asks for nothing else.
  return { client: { json: json as never }, asked };
}

const idsOf = ({ responses }: { responses: ShownResponse[] }) => responses.map(({ id }) => id);

describe('sluice responses list --status', () => {
  it('shows those of the status, and goes on behind the last of them', async () => {
    const { client } = serviceOf(250);
    const first = await findResponses(client, { limit: '3', status: 'failed' });
    expect([idsOf(first), first.next]).toEqual([['r9', 'r19', 'r29'], '--status failed --after r29']);
    const rest = await findResponses(client, { limit: '100', status: 'failed', after: 'r29' });
    expect([idsOf(rest).length, idsOf(rest)[0], rest.next]).toEqual([22, 'r39', undefined]);
  });

  it('looks through a thousand and says where to go on', async () => {
    const { client, asked } = serviceOf(5_000);
    const found = await findResponses(client, { status: 'cancelled' });
    expect([found, asked.length]).toEqual([{ responses: [], next: '--status cancelled --after r999' }, 10]);
  });

  it('asks once without a status, for as many as are wanted', async () => {
    const { client, asked } = serviceOf(50);
    const found = await findResponses(client, { limit: '7', status: undefined });
    expect([idsOf(found).length, found.next, asked]).toEqual([7, '--after r6', ['?limit=7']]);
  });

  it.each(['0', '101', 'many'])('refuses a limit of %s', async (limit) => {
    const { client } = serviceOf(1);
    await expect(findResponses(client, { limit, status: 'failed' })).rejects.toThrow('--limit');
  });
});

describe('sluice responses show', () => {
  const details: Record<string, string> = { a: 'req_123', b: 'req_12' };
  const client = {
    json: (async (_method: string, path: string) =>
      path.startsWith('?')
        ? { data: path.includes('req_1') ? [{ id: 'a' }, { id: 'b' }] : [] }
        : { row: { id: path.slice(1) }, request_id: details[path.slice(1)] }) as never,
  };

  it('takes the response whose request has all of the id', async () => {
    expect(await findByRequest(client, 'req_12')).toMatchObject({ row: { id: 'b' } });
  });

  it('takes the id of a response as it is', async () => {
    expect(await findByRequest(client, 'a')).toMatchObject({ row: { id: 'a' }, request_id: 'req_123' });
  });

  it.each(['req_1', 'req_9'])('says that nothing is known of %s', async (id) => {
    await expect(findByRequest(client, id)).rejects.toThrow(`knows of no response of '${id}'`);
  });
});
