import { randomUUID } from 'node:crypto';
import { eventually } from '@sluice/testing';
import { expect, it } from 'vitest';
import { type ClientSite, type Mount, narrowKey, onlyPrompt } from '../src/client-site.ts';
import { remark } from './remark.ts';

/** One request to the model `scripted`. */
export interface Asked {
  /** The address, with the mount. */
  baseUrl: string;
  apiKey: string;
  prompt: string;
  /** Its `Idempotency-Key`. */
  once: string;
  /** How often the client may ask again by itself. */
  maxRetries: number;
}

/** How a stream went: its text, and the name of the error that ended it. */
export interface StreamRead {
  text: string;
  error?: string | undefined;
}

/** Reads the pieces of a stream until it ends or throws. */
export async function readStream(pieces: () => AsyncIterable<string>): Promise<StreamRead> {
  let text = '';
  try {
    for await (const piece of pieces()) text += piece;
    return { text };
  } catch (error) {
    return { text, error: error instanceof Error ? error.constructor.name : String(error) };
  }
}

/** A client by its own calls. */
export interface RetryingClient {
  site: ClientSite;
  mount: Mount;
  /** The text of a whole answer. */
  whole: (asked: Asked) => Promise<string>;
  stream: (asked: Asked) => Promise<StreamRead>;
  /** The name of the error that it throws when a stream breaks off. */
  cutError: string;
  /** A remark on that error. */
  cutRemark?: string;
}

/**
 * Declares tests of one client at one mount, inside its suite: its connection breaks in mid-stream or before the answer, or the
 * service refuses the first try.
 */
export function testBrokenConnections({
  site,
  mount,
  whole,
  stream,
  cutError,
  cutRemark,
}: RetryingClient): void {
  const ask = (asked: Partial<Asked> = {}): Asked => ({
    baseUrl: `${site.path.url}${mount}`,
    apiKey: site.key,
    prompt: onlyPrompt('Tell me of Bergen'),
    once: randomUUID(),
    maxRetries: 2,
    ...asked,
  });
  const bergen = 'Bergen lies between seven mountains.';

  it('a stream whose connection breaks, and again with its `Idempotency-Key`', async (context) => {
    const { path, model } = site;
    const asked = ask({ prompt: onlyPrompt('Hold on') });
    path.breakAfter('Well, ');
    expect(await stream(asked)).toEqual({ text: 'Well, ', error: cutError });
    const again = stream(asked);
    model.goOn(asked.prompt);
    expect(await again).toEqual({ text: 'Well, that is all.' });
    expect(model.requestsFor(asked.prompt)).toHaveLength(1);
    if (cutRemark !== undefined) remark(context, cutRemark);
  });

  it('an answer that is lost, which it asks for again by itself', async () => {
    const { path, model } = site;
    for (const read of [whole, async (asked: Asked) => (await stream(asked)).text]) {
      const asked = ask();
      const before = path.statuses.length;
      path.loseAnswer();
      expect(await read(asked)).toBe(bergen);
      expect(path.statuses.slice(before)).toEqual([200, 200]);
      expect(model.requestsFor(asked.prompt)).toHaveLength(1);
    }
  });

  it('429 of a key whose queue is full, which it waits out', async () => {
    const { path, fillNarrowKey } = site;
    const makeRoom = await fillNarrowKey();
    const before = path.statuses.length;
    const answer = whole(ask({ apiKey: narrowKey }));
    const statuses = () => path.statuses.slice(before);
    await eventually(() => statuses().includes(429));
    makeRoom();
    expect(await answer).toBe(bergen);
    expect(statuses().at(-1)).toBe(200);
  });
}
