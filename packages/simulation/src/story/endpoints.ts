import { setTimeout as pause } from 'node:timers/promises';
import type { SendEvent } from '../service/simulated-worker.ts';
import type { SimulatedService } from '../service/simulated-service.ts';
import { tenants } from '../service/names.ts';
import type { SimulatedProcess } from '../world/simulated-process.ts';
import { Random } from '../world/random.ts';
import { askUntilDone } from './ask-api.ts';

/** An event that an endpoint was sent and has taken. */
export interface TakenEvent {
  tenant: string;
  id: string;
  type: string;
  responseId: string;
}

const eventTypes = [
  'response.completed',
  'response.failed',
  'response.incomplete',
  'response.cancelled',
] as const;

/** How long an endpoint takes typically, in milliseconds, and how often the first call for an event fails, before it is taken or behind that. */
const answersInMs = 20;
const failing = 0.1;

/** The endpoints of all tenants: each takes any event, some of them only when they are sent again. */
export class SimulatedEndpoints {
  readonly taken: TakenEvent[] = [];
  readonly #random: Random;
  readonly #tried = new Set<string>();

  constructor(seed: number) {
    this.#random = new Random(seed).fork('endpoints');
  }

  /** How a process sends to them. */
  sendOf(process: SimulatedProcess): SendEvent {
    return async ({ tenant, id, body }) => {
      const event = JSON.parse(body) as { type: string; data: { id: string } }; // of responses, which is all that is asked for
      const { data } = event;
      await pause(this.#random.skewed(answersInMs));
      const isFirst = !this.#tried.has(id);
      this.#tried.add(id);
      if (isFirst && this.#random.happens(failing)) return { status: 500 };
      this.taken.push({ tenant, id, type: event.type, responseId: data.id });
      process.world.note(process.name, `tells ${tenant} of ${event.type} ${data.id}`);
      return isFirst && this.#random.happens(failing) ? { fault: 'the answer is lost' } : { status: 200 };
    };
  }
}

/** Has each tenant make an endpoint, before anything goes wrong. */
export async function addEndpoints(service: SimulatedService): Promise<void> {
  for (const tenant of Object.values(tenants)) {
    const asked = { name: '', url: `https://hooks.example/${tenant}`, event_types: [...eventTypes] };
    await askUntilDone(service, ({ parts: { webhooks } }) => {
      if (!webhooks) throw new Error('There are no webhooks');
      return webhooks.create(tenant, asked);
    });
  }
}
