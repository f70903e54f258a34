import type { OpenSettings, Settings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import {
  FailedLogins,
  type Logger,
  type RedisClock,
  type StopReason,
  untilRedisTakes,
  type RequestStop,
} from '@sluice/runtime';
import { readDevelopmentKey } from '@sluice/tenants';
import type { Traces } from '@sluice/traces';
import { closeConnections, startFromFirstCell, stopForLate } from '@sluice/wiring';
import type { FastifyInstance } from 'fastify';
import { buildAdminApp } from './admin/admin-app.ts';
import { type ApiParts, makeApiParts, type ReplacedParts } from './api-parts.ts';
import { buildApp } from './app.ts';
import { listen } from './listen.ts';

/** The part of the time to drain that is kept for ending requests that did not finish. */
const interruptShare = 0.8;

/** The part of the time to drain in which clients may still take what was written to them. */
const lingerShare = 0.1;

/** The part of the time to drain that the last traces may take. */
const traceShare = 0.05;

/** How long a process that was told to stop still takes requests, so that load balancers notice first, in milliseconds. */
const announceMs = 1_000;

export interface ApiProcessOptions {
  settings: Settings & { redisUrl: string };
  /** Watches the file of the settings; without it they stay as they are. */
  watch?: OpenSettings['watch'];
  /** Stopped with the process. Absent while traces are off. */
  traces?: Traces | undefined;
  logger: Logger;
  /** Called once requests are answered, if only by a refusal: Redis may not be there yet. */
  onListening?: (listening: ApiAddresses) => void;
  /** Called once requests are taken. */
  onReady: (ready: ApiAddresses & { acceptsDevelopmentKey: boolean }) => void;
  /** Parts of a test. */
  replaced?: ReplacedParts;
}

export interface ApiAddresses {
  url: string;
  adminUrl: string;
}

/**
 * An api process: takes requests, waits and streams, and holds nothing that another process would need.
 *
 * It listens before Redis is there and refuses what needs Redis meanwhile, so that a client gets an answer and an
 * operator a health check.
 */
export class ApiProcess {
  readonly #options: ApiProcessOptions;
  readonly #parts: ApiParts;
  #app: FastifyInstance | undefined;
  #admin: FastifyInstance | undefined;
  /** Where it listens; empty until it does. */
  #url = '';
  #hasStarted = false;
  #isStopping = false;

  constructor(options: ApiProcessOptions) {
    this.#options = options;
    this.#parts = makeApiParts({
      ...options,
      hasStarted: () => this.#hasStarted,
      isStopping: () => this.#isStopping,
      acceptingNow: (clock) => this.#acceptingNow(clock),
    });
  }

  /** `requestStop` is called with an error that a late start of the first cell ended with. */
  async start(signal: AbortSignal, requestStop?: RequestStop): Promise<void> {
    const parts = this.#parts;
    const { settings, logger, onListening, onReady } = this.#options;
    const { server } = settings;
    const { trustedProxies } = server;
    await parts.tenants.takeSettings(settings);
    for (const { clock } of parts.cells.all) await clock.start();
    // It listens for messages from the first connection on, and waits for that as long as it takes.
    const storeStarted = parts.store.start();
    storeStarted.catch(() => undefined); // It is awaited below, unless the start ends before.
    this.#app = buildApp({
      ...parts,
      failedLogins: new FailedLogins({ trustedProxies }),
      readiness: () => this.#readiness(),
      isStopping: () => this.#isStopping,
      logger,
      beginTrace: this.#options.traces?.begin,
      json: parts.bodies.reader,
      corsOrigins: server.corsOrigins,
      startedAt: Math.floor(parts.clock.now() / 1000),
    });
    this.#admin = await buildAdminApp({
      ...parts,
      registry: parts.metrics.registry,
      token: server.adminToken,
      actionToken: server.adminActionToken,
      developmentKey: async () =>
        parts.tenants.acceptsDevelopmentKey ? readDevelopmentKey(settings.dataDir) : undefined,
      apiUrl: () => this.#url,
      failedLogins: new FailedLogins({ trustedProxies }),
      failedTokens: new FailedLogins({ trustedProxies }),
      logger,
    });
    const adminUrl = await listen(
      this.#admin,
      server.adminHost,
      server.adminPort,
      'ADMIN_HOST',
      'ADMIN_PORT',
    );
    const url = await listen(this.#app, server.host, server.port, 'HOST', 'PORT');
    this.#url = url;
    onListening?.({ url, adminUrl });
    await parts.redis.start(signal);
    await storeStarted;
    for (const { clock } of parts.cells.all) if (!clock.isSynchronized) await clock.sample();
    await untilRedisTakes(() => parts.sealing.start(), signal);
    const onLate = stopForLate(requestStop, signal);
    await startFromFirstCell(parts.cells.all.length, () => this.#startFromFirstCell(signal), onLate);
    this.#hasStarted = true;
    parts.memory.start();
    parts.stats.start();
    parts.operator.start();
    parts.models.start();
    parts.usage?.start();
    parts.files?.start();
    parts.batches?.start();
    parts.watch?.start();
    onReady({ url, adminUrl, acceptsDevelopmentKey: parts.tenants.acceptsDevelopmentKey });
  }

  async #startFromFirstCell(signal: AbortSignal): Promise<void> {
    const parts = this.#parts;
    await parts.cellWatch.start(signal);
    await parts.cellCounts.start();
    await parts.tenants.start(signal);
    await parts.storedModels.start(signal);
    await parts.discovery.start(signal);
  }

  /** Reads the settings file at once, and puts what changed in it into effect. */
  reload(): void {
    this.#parts.watch?.reload();
  }

  /** Says that it stops, finishes what is under way, and ends what takes too long. */
  async stop(reason: StopReason): Promise<void> {
    this.#isStopping = true;
    const parts = this.#parts;
    const acts = parts.operator.acts.stop();
    parts.stats.announce();
    const { drainTimeoutMs } = this.#options.settings;
    let graceMs = drainTimeoutMs * interruptShare;
    if (reason === 'terminated' && this.#app) {
      // Part of the time to drain, not on top of it: past that the process is ended as it is.
      const announcing = Math.min(announceMs, graceMs / 2);
      await new Promise((resolve) => setTimeout(resolve, announcing));
      graceMs -= announcing;
    }
    // Lines of batches that are under way go on in another api.
    const batches = parts.batches?.stop();
    const closing = this.#app?.close();
    parts.sockets.drain();
    await parts.open.drain(graceMs);
    // A client that still has a connection does not read its answer, or never sent a request.
    const cut = setTimeout(() => {
      this.#app?.server.closeAllConnections();
      parts.sockets.terminate();
    }, drainTimeoutMs * lingerShare);
    await closing;
    clearTimeout(cut);
    // No cell joins a process that stops.
    await parts.cellWatch.stop();
    await acts;
    await batches;
    await parts.watch?.stop();
    await Promise.all([parts.models.stop(), parts.storedModels.stop(), parts.discovery.stop()]);
    await parts.tenants.stop();
    await parts.sealing.stop();
    parts.redis.stop();
    parts.memory.stop();
    await parts.bodies.stop();
    await parts.responses.stop();
    await parts.store.stop();
    await parts.stats.stop();
    await parts.usage?.stop();
    parts.files?.stop();
    await this.#admin?.close();
    await parts.operator.stop();
    await this.#options.traces?.stop(drainTimeoutMs * traceShare);
    parts.metrics.stop();
    await closeConnections(parts);
  }

  /** The store's time for an accept, which needs the lease of this process and a synchronized clock. */
  #acceptingNow(clock: RedisClock): number {
    if (!this.#hasStarted || !clock.isSynchronized) {
      throw new ServiceError('server_is_overloaded', 'The server cannot take requests at the moment.');
    }
    return clock.now();
  }

  async #readiness() {
    const store = this.#hasStarted && (await this.#parts.redis.isReady());
    return { isReady: store && !this.#isStopping, checks: { store, stopping: this.#isStopping } };
  }
}
