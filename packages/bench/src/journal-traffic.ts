import { randomBytes } from 'node:crypto';
import { digestsOf, type JournalLine, journalKey, printEntry } from '@sluice/journal';
import { Redis } from 'ioredis';

/** Fills a journal with responses that never were, and goes on to tell of more. */
export interface JournalTraffic {
  /** So many responses, accepted one after the other until now, that have ended. */
  fill(responses: number): Promise<void>;
  /** Writes so many entries a second until it is stopped: accepts, claims, first outputs and ends in turns. */
  begin(entriesPerSecond: number): void;
  /** Writes no more. Resolves when all was written. */
  end(): Promise<void>;
  stop(): Promise<void>;
}

/** How often entries are written, in milliseconds. */
const writeEveryMs = 50;

const batchSize = 1_000;

const statuses = ['completed', 'completed', 'completed', 'completed', 'failed', 'cancelled'] as const;
const codes = ['timeout', 'server_error', 'upstream_error'] as const;

/** The journal of a service's only cell. */
export async function startJournalTraffic(redisUrl: string, keyPrefix: string): Promise<JournalTraffic> {
  const client = new Redis(redisUrl, { protocol: 2 });
  const [seconds] = await client.time();
  const now = Number(seconds) * 1000;
  const key = journalKey(`${keyPrefix}{0}:`);
  const write = async (entries: readonly string[]) => {
    const pipeline = client.pipeline();
    for (const entry of entries) pipeline.xadd(key, '*', 'e', entry);
    await pipeline.exec();
  };
  let timer: NodeJS.Timeout | undefined;
  let written: Promise<unknown> = Promise.resolve();
  const end = async () => {
    clearInterval(timer);
    await written;
  };
  return {
    async fill(responses) {
      for (let at = 0; at < responses; at += batchSize) {
        const entries: string[] = [];
        for (let each = at; each < Math.min(at + batchSize, responses); each += 1) {
          entries.push(...lifeOf(each, now - (responses - each) * 20).map(({ text }) => text));
        }
        await write(entries);
      }
    },
    begin(entriesPerSecond) {
      const begunAt = performance.now();
      let number = 0;
      let done = 0;
      let waiting: string[] = [];
      timer = setInterval(() => {
        const due = Math.floor(((performance.now() - begunAt) / 1000) * entriesPerSecond);
        const entries: string[] = [];
        for (; done < due; done += 1) {
          if (waiting.length === 0) {
            const at = now + Math.round(performance.now() - begunAt);
            waiting = lifeOf((number += 1), at, { isSplit: true }).map(({ text }) => text);
          }
          entries.push(waiting.shift() ?? '');
        }
        written = Promise.all([written, write(entries)]);
      }, writeEveryMs);
    },
    end,
    async stop() {
      await end();
      client.disconnect();
    },
  };
}

/** What is said of one response: by its api, and by its worker in one entry, or in one for each line. */
function lifeOf(number: number, at: number, { isSplit = false } = {}): { text: string }[] {
  const subject = `0${randomBytes(24).toString('base64url').replaceAll(/[-_]/g, 'x').slice(0, 31)}`;
  const of = {
    tenant: `tenant-${number % 20}`,
    model: `model-${number % 4}`,
    tier: 'default',
    mode: number % 3 === 0 ? 'stream' : 'whole',
  };
  const status = statuses[number % statuses.length] ?? 'completed';
  const code = status === 'failed' ? codes[number % codes.length] : undefined;
  const digests = digestsOf({ job: String(number % 1000) });
  const worker = 'fd3aa423-2f6b-4bfb-9c38-f2e3c33769cd';
  const accepted: JournalLine[] = [
    { what: 'accepted', at, ...of, requestId: `req_${'x'.repeat(32)}`, isInLine: false, digests },
  ];
  const run: JournalLine[] = [
    {
      what: 'claimed',
      at: at + 5,
      attempt: 1,
      worker,
      ...of,
      acceptedAt: at,
      host: 'worker-7d9f4c8b6',
      pid: 1,
    },
    { what: 'called', at: at + 6, attempt: 1, provider: 'upstream', upstreamModel: of.model },
    { what: 'first_output', at: at + 50, attempt: 1 },
  ];
  const last: JournalLine[] = [
    {
      what: 'ended',
      at: at + 90,
      attempt: 1,
      status,
      code,
      because: undefined,
      inputTokens: 30,
      outputTokens: 9,
    },
  ];
  const [claimed, ...rest] = run;
  const told = isSplit ? [accepted, claimed ? [claimed] : [], rest, last] : [accepted, run, last];
  return told.map((lines) => ({ text: printEntry({ subject, lines }) }));
}
