import { randomFrom } from '@sluice/testing';
import type { ModelRoute } from '../src/model-routes.ts';
import { affinityOf, blockCharacters } from '../src/servers/affinity.ts';
import { hashOf, mostCallsToGoOn, orderServers } from '../src/servers/choose-server.ts';
import { tellEveryMs } from '../src/servers/server-loads.ts';
import { idleProvider } from './idle-upstreams.ts';

/** How a call finds its server. `single` is one server with the caches and the slots of all. */
export type Policy = 'ours' | 'round robin' | 'consistent hashing' | 'least loaded' | 'single';

export interface SimulationOptions {
  policy: Policy;
  seed: number;
  calls: number;
  servers?: number;
  workers?: number;
  tenants?: number;
  /** Blocks that the cache of a server holds. A block is 128 tokens. */
  cacheBlocks?: number;
  /** Calls that a server runs at a time. */
  slots?: number;
  callsPerSecond?: number;
}

export interface SimulationResult {
  /** Blocks of prompts that were in the cache of their server, and all blocks of prompts. */
  hits: number;
  blocks: number;
  /** From the arrival of a call to its first token, in simulated milliseconds: the 99th percentile. */
  p99WaitMs: number;
  /** The most calls that a server got, as a multiple of its share of all. */
  mostOfCalls: number;
  /** Calls that began although the chooser knew that it gave their server more than its share of the calls under way. */
  knownlyOver: number;
}

/** To compute a block of a prompt, and to generate one, in milliseconds. */
const prefillMs = 3;
const decodeMs = 2_500;

/** A prefix cache: blocks in the order of their last use. The end of a prompt goes before its beginning. */
class BlockCache {
  readonly #capacity: number;
  readonly #blocks = new Set<number>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** How many of the first blocks of a prompt are there. */
  hits(prompt: readonly number[]): number {
    const missing = prompt.findIndex((block) => !this.#blocks.has(block));
    return missing === -1 ? prompt.length : missing;
  }

  use(prompt: readonly number[]): void {
    for (const block of prompt.toReversed()) {
      this.#blocks.delete(block);
      this.#blocks.add(block);
    }
    for (const block of this.#blocks) {
      if (this.#blocks.size <= this.#capacity) return;
      this.#blocks.delete(block);
    }
  }
}

interface Server {
  cache: BlockCache;
  route: ModelRoute;
  calls: number;
  running: number;
  waiting: (() => void)[];
  /** When it has computed all prompts that it has begun. */
  computedAt: number;
}

/** How a client tells what it continues: by the id of the response before, by a key of the cache, or not at all. */
type Kind = 'chain' | 'key' | 'nothing';

interface Conversation {
  id: number;
  tenant: number;
  kind: Kind;
  instructions: string;
  firstMessage: string;
  blocks: number[];
  turnsLeft: number;
  /** Its own, so that no choice changes what happens in it. */
  random: () => number;
  previous: string | undefined;
}

/** Events in the order of their time. */
class Agenda {
  /** The next one last. */
  readonly #events: { at: number; act: () => void }[] = [];

  add(at: number, act: () => void): void {
    const place = this.#events.findLastIndex((event) => event.at > at) + 1;
    this.#events.splice(place, 0, { at, act });
  }

  next(): { at: number; act: () => void } | undefined {
    return this.#events.pop();
  }
}

/** The prompts that every conversation of an application begins with. */
interface Application {
  tenant: number;
  instructions: string;
  blocks: number[];
}

/**
 * Runs conversations of many tenants against servers with a prefix cache each, in simulated time. What is asked is the same
 * for every policy of a seed. The workers choose with the code of the service, and each knows the calls of the others as they
 * were half a second ago.
 */
export class ServerSimulation {
  readonly #options: Required<SimulationOptions>;
  readonly #random: () => number;
  readonly #choosing: () => number;
  readonly #agenda = new Agenda();
  readonly #servers: Server[];
  readonly #applications: Application[];
  /** Calls under way by worker and server, and what each worker knows of all others. */
  readonly #own: Map<string, number>[];
  #told: Map<string, number>[];
  readonly #waits: number[] = [];
  readonly #result = { hits: 0, blocks: 0, knownlyOver: 0 };
  #nextBlock = 0;
  #nextConversation = 0;
  #callsLeft: number;
  #turn = 0;
  #now = 0;

  constructor(options: SimulationOptions) {
    const given = {
      servers: 10,
      workers: 4,
      tenants: 150,
      cacheBlocks: 8_000,
      slots: 64,
      callsPerSecond: 50,
      ...options,
    };
    this.#options = given;
    this.#random = randomFrom(given.seed);
    this.#choosing = randomFrom(given.seed + 1);
    this.#callsLeft = given.calls;
    const isSingle = given.policy === 'single';
    const count = isSingle ? 1 : given.servers;
    this.#servers = Array.from({ length: count }, (_, at) => ({
      cache: new BlockCache(given.cacheBlocks * (isSingle ? given.servers : 1)),
      route: routeTo(at),
      calls: 0,
      running: 0,
      waiting: [],
      computedAt: 0,
    }));
    this.#own = Array.from({ length: given.workers }, () => new Map());
    this.#told = Array.from({ length: given.workers }, () => new Map());
    this.#applications = this.#makeApplications();
  }

  run(): SimulationResult {
    this.#arrive();
    this.#tell();
    for (;;) {
      const next = this.#agenda.next();
      if (!next) break;
      this.#now = next.at;
      next.act();
    }
    const waits = this.#waits.toSorted((one, other) => one - other);
    const calls = this.#servers.map((server) => server.calls);
    const share = waits.length / calls.length;
    return {
      ...this.#result,
      p99WaitMs: waits[Math.floor(waits.length * 0.99)] ?? 0,
      mostOfCalls: Math.max(...calls) / share,
    };
  }

  /** Some tenants have far more conversations than others, and one or two applications each. */
  #makeApplications(): Application[] {
    const applications: Application[] = [];
    for (let tenant = 0; tenant < this.#options.tenants; tenant += 1) {
      const count = this.#random() < 0.3 ? 2 : 1;
      for (let at = 0; at < count; at += 1) {
        // One in five has next to no instructions.
        const length = this.#random() < 0.2 ? 0 : between(this.#random, 8, 80);
        const words = `Application ${tenant}.${at}: `;
        applications.push({
          tenant,
          instructions: length === 0 ? 'Be brief.' : words.padEnd(length * blockCharacters, words),
          blocks: this.#newBlocks(length),
        });
      }
    }
    return applications;
  }

  #arrive(): void {
    if (this.#callsLeft <= 0) return;
    const turns = 1 + Math.floor(-Math.log(1 - this.#random()) * 5);
    const gapMs = (-Math.log(1 - this.#random()) * 1_000 * 6) / this.#options.callsPerSecond;
    // By Zipf's law, nearly.
    const rank = Math.floor(this.#applications.length ** this.#random()) - 1;
    const application = this.#applications[rank];
    const kinds: Kind[] = ['chain', 'chain', 'chain', 'key', 'nothing'];
    const kind = kinds[Math.floor(this.#random() * kinds.length)] ?? 'chain';
    if (application) {
      const id = this.#nextConversation;
      this.#nextConversation += 1;
      const { tenant, instructions, blocks } = application;
      const firstMessage = `Question ${id}. `.repeat(60);
      this.#ask({
        id,
        tenant,
        kind,
        instructions,
        firstMessage,
        blocks: [...blocks],
        turnsLeft: turns,
        random: randomFrom(hashOf(`${this.#options.seed} ${id}`)),
        previous: undefined,
      });
    }
    this.#agenda.add(this.#now + gapMs, () => this.#arrive());
  }

  /** Each worker tells the others of its calls, and hears of theirs. */
  #tell(): void {
    this.#told = this.#own.map((_, worker) => {
      const sums = new Map<string, number>();
      for (const [other, counts] of this.#own.entries()) {
        if (other === worker) continue;
        for (const [server, count] of counts) sums.set(server, (sums.get(server) ?? 0) + count);
      }
      return sums;
    });
    if (this.#callsLeft > 0) this.#agenda.add(this.#now + tellEveryMs, () => this.#tell());
  }

  #ask(conversation: Conversation): void {
    if (this.#callsLeft <= 0) return;
    this.#callsLeft -= 1;
    const { random } = conversation;
    conversation.blocks.push(...this.#newBlocks(between(random, 1, 12)));
    const outputBlocks = between(random, 1, 6);
    const thinkMs = 2_000 - Math.log(1 - random()) * 20_000;
    const worker = Math.floor(random() * this.#options.workers);
    const server = this.#choose(conversation, worker);
    const key = server.route.server?.key ?? '';
    const own = this.#own[worker] ?? new Map<string, number>();
    own.set(key, (own.get(key) ?? 0) + 1);
    server.calls += 1;
    const arrivedAt = this.#now;
    const begin = () => {
      server.running += 1;
      const prompt = [...conversation.blocks];
      const hits = server.cache.hits(prompt);
      this.#result.hits += hits;
      this.#result.blocks += prompt.length;
      server.computedAt =
        Math.max(server.computedAt, this.#now) + (prompt.length - hits) * (prefillMs / this.#speed);
      this.#waits.push(server.computedAt - arrivedAt);
      server.cache.use(prompt);
      this.#agenda.add(server.computedAt + outputBlocks * decodeMs, () => {
        own.set(key, (own.get(key) ?? 1) - 1);
        conversation.blocks.push(...this.#newBlocks(outputBlocks));
        server.cache.use(conversation.blocks);
        server.running -= 1;
        server.waiting.shift()?.();
        conversation.previous = key;
        conversation.turnsLeft -= 1;
        if (conversation.turnsLeft > 0) this.#agenda.add(this.#now + thinkMs, () => this.#ask(conversation));
      });
    };
    const slots = this.#options.slots * (this.#options.policy === 'single' ? this.#options.servers : 1);
    if (server.running < slots) begin();
    else server.waiting.push(begin);
  }

  /** The single server computes as fast as all of the others together. */
  get #speed(): number {
    return this.#options.policy === 'single' ? this.#options.servers : 1;
  }

  #choose({ tenant, kind, id, instructions, firstMessage, previous }: Conversation, worker: number): Server {
    const answer = {
      type: 'message' as const,
      role: 'assistant' as const,
      content: [{ type: 'output_text' as const, text: 'Yes.' }],
    };
    const content = [{ type: 'input_text' as const, text: firstMessage }];
    const affinity = affinityOf(
      {
        instructions,
        input: [{ type: 'message', role: 'user', content }, ...(previous === undefined ? [] : [answer])],
        ...(kind === 'key' && { prompt_cache_key: `conversation ${id}` }),
      },
      { tenant: `tenant ${tenant}`, previous: kind === 'chain' ? previous : undefined },
    );
    const loadOf = ({ key }: { key: string }) =>
      (this.#own[worker]?.get(key) ?? 0) + (this.#told[worker]?.get(key) ?? 0);
    const routes = this.#servers.map(({ route }) => route);
    const loads = this.#servers.map(({ route }) => (route.server ? loadOf(route.server) : 0));
    let place = 0;
    switch (this.#options.policy) {
      case 'single':
        break;
      case 'round robin':
        place = this.#turn % routes.length;
        this.#turn += 1;
        break;
      case 'least loaded':
        place = loads.indexOf(Math.min(...loads));
        break;
      case 'consistent hashing': {
        const scores = routes.map(({ server }) => hashOf(`${affinity?.key} ${server?.key}`));
        place = scores.indexOf(Math.max(...scores));
        break;
      }
      case 'ours': {
        const choice = { affinity, isOpen: () => true, loadOf, random: this.#choosing };
        const [first] = orderServers(routes, choice);
        place = routes.findIndex((route) => route === first);
        if ((loads[place] ?? 0) + 1 > mostCallsToGoOn(loads)) this.#result.knownlyOver += 1;
      }
    }
    const server = this.#servers[place];
    if (!server) throw new RangeError(`There is no server ${place}`);
    return server;
  }

  #newBlocks(count: number): number[] {
    this.#nextBlock += count;
    return Array.from({ length: count }, (_, at) => this.#nextBlock - count + at);
  }
}

function between(random: () => number, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

function routeTo(at: number): ModelRoute {
  return { provider: idleProvider(), model: 'm', server: { name: `server ${at}`, key: `up server ${at}` } };
}
