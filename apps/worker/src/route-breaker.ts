import { CallWindow } from './call-window.ts';
import type { BreakerCall, BreakerOptions, BreakerState } from './circuit-breaker.ts';
import { type Lane, ProbeLanes } from './probe-lanes.ts';
import { everybody, RecentTenants } from './recent-tenants.ts';

/** The tenant and the response of a call. */
export interface CallOwner {
  tenant: string;
  responseId: string;
}

/** Why a tenant's call may not begin: when another look is worth it, in milliseconds; 0 while a probe is under way. */
export interface OpenBlock {
  waitMs: number;
}

interface Answers {
  /** When a call was answered last. */
  answeredAt: number;
  window: CallWindow;
}

/** Most failed tenants that an open breaker remembers. */
const mostFailed = 256;

/** For this long after an answer to a tenant, in milliseconds, its calls need no probe before them. */
const trustMs = 10_000;

/**
 * Keeps calls from one model of an upstream that fails them, and lets no tenant close it to others.
 *
 * It counts failed responses, not calls, since the last answer to any tenant. Enough failures open it if every tenant with
 * recent calls has failed, or if at least `everybody` tenants have. A share of failures opens it if the tenants whose own
 * calls fail at that share are all of those, or `everybody`. So a request that fails where others are answered opens
 * nothing.
 *
 * While it is open, a tenant that has failed waits until its next probe is due. The first few such tenants have a lane for
 * their probes each, and later ones share one. Tenants that have not failed share a lane for probes, too, which is open at
 * once, one probe at a time; after `everybody` has failed, it opens at growing intervals. A tenant that was answered a
 * moment ago needs no probe until its first failure. So no tenant can keep another waiting for more than the probe of a
 * third, and no probe is waited for longer than `longestProbeMs`. The first answer to any tenant closes the breaker.
 *
 * Calls that began before the last opening or closing say nothing about the time after it and are not counted.
 */
export class RouteBreaker {
  readonly #options: BreakerOptions;
  readonly #tenants = new RecentTenants<Answers>();
  /** The responses that failed since the last answer, by tenant. */
  readonly #failed = new Map<string, Set<string>>();
  /** Undefined while it is closed. */
  #lanes: ProbeLanes | undefined;
  #closedAt = Number.NEGATIVE_INFINITY;
  /** When it opened, plus the time in which a probe was due and nobody made one. */
  #downSince = 0;
  /** Openings that followed each other closely. */
  #repeated = 0;
  /** Counts the changes between closed and open. */
  #era = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    if (!this.#lanes) return 'closed';
    return this.opensInMs > 0 ? 'open' : 'half_open';
  }

  /** How long it stays open for tenants that have failed, in milliseconds; 0 when it is not open. */
  get opensInMs(): number {
    return this.#lanes ? Math.max(0, this.#lanes.nextAt - this.#options.now()) : 0;
  }

  /**
   * How long the route is known to have been down, in milliseconds: since it opened, failed probes included; 0 when it is
   * closed. Time in which a probe was due and nobody made one does not count.
   */
  get downMs(): number {
    return this.#lanes ? this.#options.now() - this.#downSince - this.#lanes.idleMs : 0;
  }

  /** Any tenant that it is open for, if every tenant with recent calls has failed; undefined if another may call. */
  get spokesman(): string | undefined {
    if (!this.#lanes) return undefined;
    return this.#recent().every((tenant) => this.#failed.has(tenant))
      ? [...this.#failed.keys()][0]
      : undefined;
  }

  /** Why no call of a tenant may begin now; undefined when one may. */
  blockOf(tenant: string | undefined): OpenBlock | undefined {
    const lane = this.#laneOf(tenant);
    if (!lane || !this.#lanes || this.#lanes.admits(lane)) return undefined;
    return { waitMs: this.#lanes.waitMs(lane) };
  }

  /** Lets a call through; undefined when its tenant may begin none. */
  begin(owner: CallOwner): BreakerCall | undefined {
    const lanes = this.#lanes;
    const lane = this.#laneOf(owner.tenant);
    if (!lane || !lanes) return this.#call(owner, undefined);
    if (!lanes.admits(lane)) return undefined;
    const isFirst = lane !== lanes.others && !lanes.isProbed;
    if (isFirst) this.#downSince += lanes.idleMs;
    lane.probeAt = this.#options.now();
    if (isFirst) this.#options.onChange('half_open', 0);
    return this.#call(owner, lane);
  }

  /** The lane that a call of the tenant has to take; undefined when it needs none. */
  #laneOf(tenant: string | undefined): Lane | undefined {
    if (!this.#lanes) return undefined;
    if (tenant !== undefined && this.#failed.has(tenant)) return this.#lanes.ofFailed(tenant);
    const isTrusted = this.#failed.size < everybody && this.#isTrusted(tenant);
    return isTrusted ? undefined : this.#lanes.others;
  }

  #isTrusted(tenant: string | undefined): boolean {
    const known = tenant === undefined ? undefined : this.#tenants.get(tenant);
    return known !== undefined && this.#options.now() - known.answeredAt < trustMs;
  }

  #call(owner: CallOwner, lane: Lane | undefined): BreakerCall {
    let era: number | undefined = this.#era;
    const began = lane?.probeAt;
    const end = (change: () => void) => {
      const isCounted = era === this.#era;
      era = undefined;
      // The lane is free again, unless a later probe has taken it.
      if (lane && lane.probeAt === began) lane.probeAt = undefined;
      if (isCounted) change();
    };
    return {
      answered: () => {
        if (era === undefined) return;
        this.#trust(owner.tenant);
        if (era !== this.#era) return;
        this.#forgive();
        era = this.#era;
      },
      succeeded: () =>
        end(() => {
          this.#trust(owner.tenant).window.add(this.#options.now(), false);
          this.#forgive();
        }),
      failed: () => end(() => this.#fail(owner, lane)),
      abandoned: () => end(() => undefined),
    };
  }

  #trust(tenant: string): Answers {
    const { now, settings } = this.#options;
    const window = this.#tenants.get(tenant)?.window ?? new CallWindow(settings.windowMs);
    const known = { answeredAt: now(), window };
    this.#tenants.set(tenant, known);
    return known;
  }

  /** Forgets every failure, because a call was answered. */
  #forgive(): void {
    this.#failed.clear();
    if (!this.#lanes) return;
    this.#lanes = undefined;
    this.#closedAt = this.#options.now();
    this.#era += 1;
    for (const { window } of this.#tenants.values()) window.clear();
    this.#options.onChange('closed', 0);
  }

  #fail({ tenant, responseId }: CallOwner, lane: Lane | undefined): void {
    const { now, settings } = this.#options;
    const failed = this.#failed.get(tenant) ?? new Set<string>();
    const isNew = !failed.has(responseId);
    if (failed.size < settings.consecutiveFailures) failed.add(responseId);
    if (this.#failed.size < mostFailed) this.#failed.set(tenant, failed);
    const known = this.#tenants.get(tenant);
    const window = known?.window ?? new CallWindow(settings.windowMs);
    if (isNew) window.add(now(), true);
    this.#tenants.set(tenant, { answeredAt: Number.NEGATIVE_INFINITY, window });
    if (this.#lanes) this.#failOpen(this.#lanes, tenant, lane);
    else if (this.#isRun() || this.#isShare()) this.#open();
  }

  /** Whether enough responses failed in a row, and every tenant with recent calls is among them. */
  #isRun(): boolean {
    let responses = 0;
    for (const failed of this.#failed.values()) responses += failed.size;
    if (responses < this.#options.settings.consecutiveFailures) return false;
    return this.#failed.size >= everybody || this.#recent().every((tenant) => this.#failed.has(tenant));
  }

  /** Whether enough calls in the window failed, of enough tenants. Marks those tenants as failed. */
  #isShare(): boolean {
    const { now, settings } = this.#options;
    const { failurePercent, minimumCalls } = settings;
    let calls = 0;
    let failures = 0;
    let tenants = 0;
    const failing: string[] = [];
    for (const [tenant, { window }] of this.#tenants.entries()) {
      const own = window.sum(now());
      if (own.calls === 0) continue;
      tenants += 1;
      calls += own.calls;
      failures += own.failures;
      if (own.failures * 100 >= own.calls * failurePercent) failing.push(tenant);
    }
    const isShare = calls >= minimumCalls && failures * 100 >= calls * failurePercent;
    const isOfMost = failing.length * 100 >= tenants * failurePercent;
    if (!isShare || !isOfMost || failing.length < Math.min(everybody, tenants)) return false;
    for (const tenant of failing) this.#failed.set(tenant, this.#failed.get(tenant) ?? new Set());
    return true;
  }

  /** The tenants that failed, or were answered a moment ago. */
  #recent(): string[] {
    const since = this.#options.now() - trustMs;
    const recent = [...this.#failed.keys()];
    for (const [tenant, { answeredAt }] of this.#tenants.entries())
      if (answeredAt > since) recent.push(tenant);
    return recent;
  }

  #open(): void {
    const { now, random, settings } = this.#options;
    const at = now();
    this.#repeated = at - this.#closedAt < settings.windowMs ? this.#repeated + 1 : 0;
    const lanes = new ProbeLanes({ settings, now, random, repeated: this.#repeated });
    for (const tenant of this.#failed.keys()) lanes.ofFailed(tenant);
    if (this.#failed.size >= everybody) lanes.close(lanes.others);
    this.#lanes = lanes;
    this.#era += 1;
    this.#downSince = at;
    this.#options.onChange('open', this.opensInMs);
  }

  #failOpen(lanes: ProbeLanes, tenant: string, lane: Lane | undefined): void {
    if (lane && lane !== lanes.others) {
      lanes.close(lane);
      this.#options.onChange('open', this.opensInMs);
      return;
    }
    lanes.ofFailed(tenant);
    // A few failed tenants are not enough to make others wait.
    const isNews = lane !== undefined || lanes.waitMs(lanes.others) === 0;
    if (this.#failed.size >= everybody && isNews) lanes.close(lanes.others);
  }
}
