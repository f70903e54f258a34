import { type Child, ownProcess, startChild } from '../child-process.ts';
import type { Flow, Sent, TrafficReply } from './flow.ts';

export interface Traffic {
  child: Child;
  /** Runs flows together. The results are in the order of the flows. */
  run(flows: readonly Flow[]): Promise<Sent[][]>;
  /** Runs a flow whose every request must be accepted. */
  fill(flow: Flow): Promise<Sent[]>;
  stop(): Promise<void>;
}

/** How long the last answers of a flow may take to be counted. */
const slackMs = 15_000;

export async function startTraffic(): Promise<Traffic> {
  const child = await startChild({
    name: 'traffic generator',
    ...ownProcess('./traffic/traffic-generator'),
  });
  const run = async (flows: readonly Flow[]) => {
    const longestMs = Math.max(...flows.map(({ lastsMs }) => lastsMs));
    const reply = (await child.ask(flows, longestMs + slackMs)) as TrafficReply; // the process's only message
    if ('error' in reply) throw new Error(`the traffic generator failed: ${reply.error}`);
    return reply.sent;
  };
  return {
    child,
    run,
    async fill(flow) {
      const [sent = []] = await run([flow]);
      const refused = sent.filter(({ status, id }) => status !== 200 || id === undefined);
      const [first] = refused;
      if (first || sent.length < flow.count) {
        throw new Error(
          `${flow.count - sent.length + refused.length} of ${flow.count} requests of ${flow.name} were not accepted` +
            ` (status ${first?.status ?? 'none: its time was over'})`,
        );
      }
      return sent;
    },
    stop: () => child.stop(),
  };
}
