import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { patchedBuild, type PatchedBuild } from '@sluice/testing';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { beside, type Storey, without } from '../storeys/storeys.ts';
import {
  onceMore,
  plans,
  type Row,
  type RowResult,
  slots,
  takeTurns,
  type TurnsPlan,
  turnsTable,
} from '../storeys/take-turns.ts';

const all: readonly Storey[] = [onceMore, ...without, ...beside];

/** The cost of each part of a response and of a token: CPU time with the part switched off, beside the whole. */
export const storeys: Scenario = {
  name: 'storeys',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { progress, quick } = context;
    const plan = quick ? plans.quick : plans.full;
    const builds = new Map<Storey, PatchedBuild>();
    const receiver = await startReceiver();
    const results: RowResult[] = [];
    try {
      for (const storey of all) {
        progress.say(`storeys: building ${storey.name}`);
        if (storey.patches) builds.set(storey, await patchedBuild(storey.patches));
      }
      for (const storey of all) {
        progress.say(`storeys: ${storey.name}`);
        const root = builds.get(storey)?.root;
        const row: Row = {
          storey,
          ...(root !== undefined && { root }),
          ...(storey.isTraced && { receiverUrl: receiver.url }),
        };
        results.push(await takeTurns(context, plan, row));
      }
    } finally {
      await receiver.stop();
      for (const build of builds.values()) await build[Symbol.asyncDispose]();
    }
    return {
      title: 'What each storey costs',
      description: descriptionOf(plan),
      tables: [turnsTable(results)],
    };
  },
};

/** A receiver of spans that reads nothing of them. It runs in this process, whose CPU time nobody counts. */
async function startReceiver(): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const server = createServer((request, answer) => {
    request.resume().once('end', () => answer.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

function descriptionOf({ warmUpMs, response }: TurnsPlan): string {
  return (
    `A synchronous response of one token, ${response.concurrency} at a time, and a token of ${slots} paced streams: CPU of the api, the worker and Redis, ` +
    'with one part of them switched off or on. Each row is an api and a worker of its own, and takes turns with an api and a worker as they are, started beside it. ' +
    'Where there is no setting, a copy of the sources is changed and built. Both have answered ' +
    `${slots} callers for ${warmUpMs / 1000} seconds before anything is measured. A row that differs as little as \`as it is, once more\` shows nothing.`
  );
}
