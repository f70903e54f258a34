import { randomUUID } from 'node:crypto';
import fastify from 'fastify';

/** Does what the api of a peer does with a prompt, under an id that is used once. */
export interface PromptHandlers {
  /** Accepts it, and resolves with its answer. */
  answer: (id: string, prompt: string) => Promise<string>;
  /** Resolves once it is accepted. */
  accept: (id: string, prompt: string) => Promise<unknown>;
  /** Closes what the api has opened. */
  close: () => Promise<unknown>;
}

/** The api of a peer: `/generate` waits for the answer, `/accept` does not. Resolves when it listens. */
export async function servePrompts({ answer, accept, close }: PromptHandlers): Promise<void> {
  const app = fastify();
  app.post<{ Body: { prompt: string } }>('/generate', async ({ body }) => ({
    output_text: await answer(randomUUID(), body.prompt),
  }));
  app.post<{ Body: { prompt: string } }>('/accept', async ({ body }) => {
    const id = randomUUID();
    await accept(id, body.prompt);
    return { id, status: 'queued' };
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  process.send?.({ url });

  process.once('SIGTERM', () => {
    void (async () => {
      await app.close();
      await close();
      process.disconnect();
    })();
  });
}
