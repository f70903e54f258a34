import { importInstalled, type PeerPlace } from './peer-place.ts';
import { servePrompts } from './serve-prompts.ts';

/** The parts of the client of Postgres that are used here. */
export interface PostgresClient {
  connect(): Promise<void>;
  query(text: string): Promise<unknown>;
  on(event: 'notification', listener: (notification: { payload?: string }) => void): void;
  end(): Promise<void>;
}

/** The channel on which Postgres tells an api of each answer, as `<id> <text>`, once its transaction is committed. */
export const answered = 'answered';

/**
 * The api of a peer to which Postgres itself tells the answers. Resolves when it listens.
 *
 * @param accept Resolves once the request is in the database.
 * @param close Closes what the api has opened.
 */
export async function serveCallers(
  place: PeerPlace,
  accept: (id: string, prompt: string) => Promise<unknown>,
  close: () => Promise<unknown>,
): Promise<void> {
  const client = await connectPostgres(place);
  const waiting = new Map<string, (text: string) => void>();
  client.on('notification', ({ payload = '' }) => {
    const end = payload.indexOf(' ');
    waiting.get(payload.slice(0, end))?.(payload.slice(end + 1));
  });
  await client.query(`listen ${answered}`);

  await servePrompts({
    async answer(id, prompt) {
      const text = new Promise<string>((resolve) => waiting.set(id, resolve));
      await accept(id, prompt);
      const answer = await text;
      waiting.delete(id);
      return answer;
    },
    accept,
    async close() {
      await close();
      await client.end();
    },
  });
}

export async function connectPostgres(place: PeerPlace): Promise<PostgresClient> {
  const { default: pg } = await importInstalled<PostgresModule>(place, 'pg/lib/index.js');
  const client = new pg.Client(place.storeUrl);
  await client.connect();
  return client;
}

interface PostgresModule {
  default: { Client: new (url: string) => PostgresClient };
}
