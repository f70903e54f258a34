import { Pool } from 'undici';
import type { BenchService } from './service.ts';

/** What a scenario reads of a response. Members that the service does not send are undefined. */
export interface ReadResponse {
  status: string;
  usage?: { total_tokens: number } | null;
  queue_position?: number | null;
  /** Seconds since the epoch. */
  estimated_start_at?: number | null;
}

/** A response and the tenant that it belongs to. */
export interface Owned {
  id: string;
  tenant: string;
}

const lanes = 16;

/** Gets responses in the order that is given. Undefined for one that the service does not know. */
export async function readResponses(
  { url, keyOf }: BenchService,
  wanted: readonly Owned[],
): Promise<(ReadResponse | undefined)[]> {
  const pool = new Pool(url, { connections: lanes, pipelining: 1 });
  const read: (ReadResponse | undefined)[] = Array.from({ length: wanted.length });
  let next = 0;
  const runLane = async () => {
    for (let at = next++; at < wanted.length; at = next++) {
      const one = wanted[at];
      if (one) read[at] = await readResponse(pool, one.id, keyOf(one.tenant));
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, runLane));
  } finally {
    await pool.close();
  }
  return read;
}

async function readResponse(pool: Pool, id: string, key: string): Promise<ReadResponse | undefined> {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: `/v1/responses/${id}`,
    headers: { authorization: `Bearer ${key}` },
  });
  if (statusCode === 404) {
    await body.dump();
    return undefined;
  }
  if (statusCode !== 200) throw new Error(`GET of ${id} answered ${statusCode}: ${await body.text()}`);
  return (await body.json()) as ReadResponse; // the service's own schema
}
