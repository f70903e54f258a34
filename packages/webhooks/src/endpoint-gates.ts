/** Calls of one endpoint, and of one tenant, that are under way in a process at a time. */
const mostCalls = { endpoint: 4, tenant: 8 };

/** After so many failures in a row an endpoint is called by one delivery at a time, and not at once. */
const failuresUntilClosed = 3;
const closedMs = { first: 5_000, longest: 300_000 };

/** A delivery that may not go now comes back after at least this long; with each other one that waits, the pause is longer. */
const againMs = { least: 500, forEach: 5 };

/** How often those that have come back elsewhere are forgotten, in milliseconds: that looks at each one. */
const lookEveryMs = 1_000;

/** When an endpoint that nobody calls is forgotten, in milliseconds. */
const rememberedMs = 600_000;

interface EndpointState {
  calls: number;
  failures: number;
  closedUntil: number;
  usedAt: number;
}

interface AskedCall {
  tenant: string;
  endpointId: string;
  deliveryId: string;
}

/** A call that may begin. `leave` it when it is over. */
export interface OpenGate {
  leave: (hasSucceeded: boolean) => void;
}

export interface EndpointGatesOptions {
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 up to 1. */
  random: () => number;
}

/**
 * Decides whether an endpoint may be called now, in this process, so that an endpoint that is slow or away takes neither the time of
 * others nor all of the process. Whoever may not call comes back after a while. The more of them there are, the longer that is: a process
 * looks at some two hundred of them a second. A tenant that has few waits for its share of those alone, so that there may be twice as many.
 */
export class EndpointGates {
  readonly #options: EndpointGatesOptions;
  readonly #endpoints = new Map<string, EndpointState>();
  readonly #tenants = new Map<string, number>();
  /** The deliveries that may not go now, with when they come back; the soonest need not be first. */
  readonly #away = new Map<string, { tenant: string; backAt: number }>();
  /** How many those of each tenant are. */
  readonly #awayOf = new Map<string, number>();
  #lookAt = 0;

  constructor(options: EndpointGatesOptions) {
    this.#options = options;
  }

  /** Lets a delivery begin its call, or says in how many milliseconds it may ask again. */
  enter(call: AskedCall): OpenGate | { afterMs: number } {
    const { tenant, endpointId, deliveryId } = call;
    const now = this.#options.now();
    const state = this.#stateOf(endpointId, now);
    this.#isBack(deliveryId);
    if (now < state.closedUntil) return this.#later(call, state.closedUntil - now);
    const most = state.failures >= failuresUntilClosed ? 1 : mostCalls.endpoint;
    const ofTenant = this.#tenants.get(tenant) ?? 0;
    if (state.calls >= most || ofTenant >= mostCalls.tenant) return this.#later(call, 0);
    state.calls += 1;
    this.#tenants.set(tenant, ofTenant + 1);
    return {
      leave: (hasSucceeded) => {
        state.calls -= 1;
        state.usedAt = this.#options.now();
        state.failures = hasSucceeded ? 0 : state.failures + 1;
        state.closedUntil = hasSucceeded ? 0 : state.usedAt + closedFor(state.failures);
        lessOne(this.#tenants, tenant);
      },
    };
  }

  /** Endpoints that are remembered. */
  get size(): number {
    return this.#endpoints.size;
  }

  #later({ tenant, deliveryId }: AskedCall, leastMs: number): { afterMs: number } {
    const { now, random } = this.#options;
    const at = now();
    this.#forgetThoseBack(at);
    const ofTenant = this.#awayOf.get(tenant) ?? 0;
    // All that wait, or as many as if each tenant had as many as this one.
    const others = Math.min(this.#away.size, ofTenant * this.#awayOf.size);
    const spreadMs = Math.max(againMs.least, others * againMs.forEach);
    const afterMs = Math.ceil(leastMs + spreadMs * (0.5 + random()));
    this.#away.set(deliveryId, { tenant, backAt: at + afterMs });
    this.#awayOf.set(tenant, ofTenant + 1);
    return { afterMs };
  }

  #forgetThoseBack(at: number): void {
    if (at < this.#lookAt) return;
    this.#lookAt = at + lookEveryMs;
    for (const [id, { backAt }] of this.#away) if (backAt < at) this.#isBack(id);
  }

  #isBack(deliveryId: string): void {
    const away = this.#away.get(deliveryId);
    if (!away) return;
    this.#away.delete(deliveryId);
    lessOne(this.#awayOf, away.tenant);
  }

  #stateOf(endpointId: string, now: number): EndpointState {
    const known = this.#endpoints.get(endpointId);
    if (known) return known;
    for (const [id, { calls, usedAt }] of this.#endpoints) {
      if (calls === 0 && usedAt < now - rememberedMs) this.#endpoints.delete(id);
    }
    const state = { calls: 0, failures: 0, closedUntil: 0, usedAt: now };
    this.#endpoints.set(endpointId, state);
    return state;
  }
}

function closedFor(failures: number): number {
  if (failures < failuresUntilClosed) return 0;
  return Math.min(closedMs.first * 2 ** (failures - failuresUntilClosed), closedMs.longest);
}

function lessOne(counts: Map<string, number>, name: string): void {
  const left = (counts.get(name) ?? 1) - 1;
  if (left > 0) counts.set(name, left);
  else counts.delete(name);
}
