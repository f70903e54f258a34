import { freePort } from '@sluice/testing';
import { folderOf } from '../installs.ts';
import type { Target } from '../load/order.ts';
import { spawnProcess, untilStarted } from '../spawned-process.ts';
import { directTarget } from '../targets.ts';
import { modelName, type NoOpModel } from '../upstream/no-op-answer.ts';
import type { Gateway } from './gateway.ts';

export interface RunningGateway {
  pid: number;
  /** A streamed answer through it, whose bytes are much like those of the upstream. */
  target: (model: NoOpModel) => Target;
  stop: () => Promise<void>;
}

/** Starts a gateway that is installed. Resolves when an answer of each model comes through it. */
export async function startGateway(
  gateway: Gateway,
  { upstreamUrl, models }: { upstreamUrl: string; models: readonly NoOpModel[] },
): Promise<RunningGateway> {
  const port = await freePort();
  const command = await gateway.serve({
    folder: folderOf(gateway),
    port,
    upstreamUrl,
    models: models.map(modelName),
  });
  const child = spawnProcess(command);
  const origin = `http://127.0.0.1:${port}`;
  const target = (model: NoOpModel): Target => {
    const direct = directTarget(upstreamUrl, model);
    return { ...direct, origin, headers: { ...direct.headers, ...gateway.headers(upstreamUrl) } };
  };
  try {
    for (const model of models) await untilStarted(gateway.name, child, () => answers(target(model)));
    return { pid: child.pid, target, stop: () => child.stop() };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

async function answers({ origin, path, headers, body, mark }: Target): Promise<true | string> {
  const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
  const text = await response.text();
  return (response.ok && text.includes(mark)) || text;
}
