import type { KeySettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { Logger, Telemetry } from '@sluice/runtime';
import type { LiveSettings } from '@sluice/tenants';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { JsonReader } from '../bodies/json-reader.ts';
import type { PreparedFrame } from '../bodies/prepare-frame.ts';
import type { OpenRequests } from '../open-requests.ts';
import { keysNotYetKnown } from '../plugins/authentication.ts';
import { asServiceError } from '../plugins/error-handler.ts';
import { countRead } from '../plugins/read-limits.ts';
import { tellRefusal } from '../refused-creates.ts';
import type { ReadLimits } from '../read-limits.ts';
import type { PresentationOptions } from '../responses/event-presentation.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import type { BeginTrace } from '../plugins/request-trace.ts';
import type { Responses } from '../responses/responses.ts';
import { serverStops } from '../responses/whole-response.ts';
import { errorFrame, steerFailedFrame } from './error-frame.ts';
import { FrameIntake, type ReceivedFrame } from './frame-intake.ts';
import { type CloseCode, closeCodes, FrameWriter } from './frame-writer.ts';
import type { ConnectionContexts } from './local-contexts.ts';
import { runTurn, type Turn } from './run-turn.ts';
import { type Lane, TurnLanes } from './turn-lanes.ts';

/** How long a client has to read why its connection is closed while it still sends, in milliseconds. */
const lingerMs = 2_000;

export interface SocketTimes {
  /** How often a connection is asked for a sign of life; one that gives none until the next time is closed. */
  pingMs: number;
  /** How long a connection may have nothing to do. */
  idleMs: number;
  /** How long a connection may last. */
  lifetimeMs: number;
  /** How long a reader may take nothing. */
  stalledMs: number;
}

/** The parts that all connections work with. */
export interface ConnectionDependencies {
  responses: Responses;
  live: Pick<LiveSettings, 'keys' | 'limits'>;
  readLimits: ReadLimits;
  open: OpenRequests;
  bodyBudget: BodyBudget;
  json: JsonReader;
  telemetry: Telemetry;
  /** Absent while traces are off. */
  beginTrace?: BeginTrace | undefined;
  logger: Logger;
  times: SocketTimes;
}

/** One WebSocket and who opened it. */
export interface OpenedSocket {
  socket: WebSocket;
  /** The stream under the socket. */
  connection: Duplex;
  /** As it was sent; asked for again at each turn, because keys are revoked and limits change. */
  plainKey: string;
  tenant: string;
  presentation: PresentationOptions;
  contexts: ConnectionContexts;
}

/**
 * One connection: frames of a client become turns, which run in the order of their lanes.
 *
 * Whatever is wrong with a frame is told in a frame, and the connection stays open, unless there is no room for what arrives.
 */
export class SocketConnection {
  readonly #dependencies: ConnectionDependencies;
  readonly #opened: OpenedSocket;
  readonly #writer: FrameWriter;
  readonly #intake: FrameIntake;
  readonly #lanes = new TurnLanes<Turn>();
  readonly #lifetime: NodeJS.Timeout;
  /** Set once nothing more is taken: what new frames are told, and how the connection ends when its turns have. */
  #ending: { error: ServiceError; code: CloseCode } | undefined;
  /** The keys among which its own was found last. */
  #keysSeen: LiveSettings['keys'] | undefined;
  #activeAt = performance.now();
  #isAlive = true;

  constructor(dependencies: ConnectionDependencies, opened: OpenedSocket) {
    const { times, bodyBudget, live } = dependencies;
    const { socket, connection, tenant } = opened;
    this.#dependencies = dependencies;
    this.#opened = opened;
    this.#writer = new FrameWriter(socket, connection, { stalledMs: times.stalledMs });
    this.#intake = new FrameIntake(socket, connection, {
      tenant,
      budget: bodyBudget,
      mostBytes: () => live.limits.bodyBytes,
      onFrame: (frame) => this.#takeFrame(frame),
      onRefused: (error) => void this.#refuseAndClose(error),
      onFlood: () => this.#writer.close(closeCodes.policy, { reason: 'too many control frames', lingerMs }),
    });
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    socket.on('error', () => undefined); // the library closes a connection whose frame breaks the protocol, and says why
    socket.once('close', () => this.#close());
    this.#lifetime = setTimeout(() => {
      const error = new ServiceError('websocket_connection_limit_reached');
      void this.#refuse(error);
      this.#end(error, closeCodes.normal);
    }, times.lifetimeMs);
  }

  /** Takes nothing more, and closes the connection once its running turns are over, so that its client goes elsewhere. */
  drain(): void {
    this.#end(serverStops(), closeCodes.restart);
  }

  /** Asks for a sign of life, and closes a connection that gave none, or has had nothing to do for long. */
  tick(): void {
    const { socket } = this.#opened;
    const isReading = !socket.isPaused;
    if ((isReading && !this.#isAlive) || this.#intake.hasStalled()) {
      socket.terminate();
      return;
    }
    this.#isAlive = !isReading;
    if (socket.readyState === socket.OPEN) socket.ping();
    // A key may have expired.
    this.#keysSeen = undefined;
    const isIdle = performance.now() - this.#activeAt >= this.#dependencies.times.idleMs;
    if (isIdle && this.#lanes.isIdle) this.#writer.close(closeCodes.goingAway, { reason: 'idle' });
  }

  /** Ends the connection once its key does not count any more. What runs goes on, as a stream does. */
  checkKey(): void {
    const { keys } = this.#dependencies.live;
    if (keys === this.#keysSeen || this.#ending || !keys.isComplete) return;
    this.#keysSeen = keys;
    if (this.#findKey()) return;
    const error = new ServiceError('invalid_api_key');
    void this.#refuse(error);
    this.#end(error, closeCodes.policy);
  }

  terminate(): void {
    this.#opened.socket.terminate();
  }

  async #takeFrame({ bytes, reservation }: ReceivedFrame): Promise<void> {
    this.#activeAt = performance.now();
    const { json } = this.#dependencies;
    let frame: PreparedFrame;
    try {
      if (!bytes) {
        this.#countRead();
        throw new ServiceError('invalid_request', 'A frame must be text, not binary.');
      }
      const unpin = reservation.pin();
      try {
        frame = await json.prepareFrame(this.#opened.tenant, bytes);
      } catch (error) {
        this.#tellRefusal(error);
        throw error;
      } finally {
        unpin();
      }
    } catch (error) {
      reservation.release();
      await this.#refuse(error);
      return;
    }
    const { streamId: lane } = frame;
    try {
      if (frame.kind !== 'create' || !frame.generates) this.#countRead();
      if (this.#ending) throw this.#ending.error;
    } catch (error) {
      if (frame.kind === 'create' && frame.generates) this.#tellRefusal(error, frame.prepared.request.model);
      reservation.release();
      await this.#refuse(error, lane);
      return;
    }
    if (frame.kind === 'create') {
      await this.#begin({
        lane,
        reservation,
        pending: new PendingRequest(frame.prepared),
        generates: frame.generates,
        arrivedAt: this.#activeAt,
      });
      return;
    }
    reservation.release();
    if (frame.kind === 'steer') {
      const error = new ServiceError('steering_not_supported');
      await this.#write(steerFailedFrame(frame.steer, error, lane));
    } else {
      const { code, message, param, previousId } = frame;
      if (previousId !== undefined) this.#opened.contexts.drop(previousId);
      await this.#refuse(new ServiceError(code, message, { param }), lane);
    }
  }

  async #begin(turn: Turn): Promise<void> {
    try {
      if (this.#lanes.add(turn.lane, turn)) void this.#run(turn);
    } catch (error) {
      this.#tellRefusal(error, turn.pending.request.model);
      turn.reservation.release();
      await this.#refuse(error, turn.lane);
    }
  }

  async #run(first: Turn): Promise<void> {
    const { contexts, presentation } = this.#opened;
    const surroundings = {
      ...this.#dependencies,
      contexts,
      presentation,
      writer: this.#writer,
      keyFor: () => this.#keyInEffect(),
    };
    for (let turn: Turn | undefined = first; turn; turn = this.#lanes.next(first.lane)) {
      await runTurn(turn, surroundings);
    }
    this.#activeAt = performance.now();
    this.#closeWhenOver();
  }

  /** The key as it is now. The connection ends with a key that was revoked. */
  #keyInEffect(): KeySettings {
    const key = this.#findKey();
    if (key) return key;
    if (!this.#dependencies.live.keys.isComplete) throw keysNotYetKnown();
    const error = new ServiceError('invalid_api_key');
    this.#end(error, closeCodes.policy);
    throw error;
  }

  #findKey(): KeySettings | undefined {
    const key = this.#dependencies.live.keys.find(this.#opened.plainKey);
    return key?.name === this.#opened.tenant ? key : undefined;
  }

  /** Counts a frame that creates nothing as a read, so that no connection can send it without end. */
  #countRead(): void {
    countRead(this.#dependencies.readLimits, this.#keyInEffect());
  }

  #end(error: ServiceError, code: CloseCode): void {
    this.#ending ??= { error, code };
    for (const { lane, reservation, pending } of this.#lanes.takeWaiting()) {
      this.#tellRefusal(error, pending.request.model);
      reservation.release();
      void this.#refuse(error, lane);
    }
    this.#closeWhenOver();
  }

  #closeWhenOver(): void {
    if (!this.#ending || !this.#lanes.isIdle) return;
    this.#writer.close(this.#ending.code);
  }

  /** There is no room for the rest of a frame, which would have to be read to get at the next one. */
  async #refuseAndClose(error: unknown): Promise<void> {
    const known = asServiceError(error);
    this.#tellRefusal(error);
    await this.#refuse(error);
    const isTooLarge = known?.code === 'request_too_large';
    this.#writer.close(isTooLarge ? closeCodes.tooLarge : closeCodes.overload, { lingerMs });
  }

  #tellRefusal(error: unknown, model = ''): void {
    tellRefusal(this.#dependencies.telemetry, { tenant: this.#opened.tenant, model }, error);
  }

  #refuse(error: unknown, lane?: Lane): Promise<void> {
    const { logger } = this.#dependencies;
    const known = asServiceError(error);
    if (!known) logger.error({ err: error }, 'frame failed');
    const told = known ?? new ServiceError('server_error', 'The server had an error.');
    return this.#write(errorFrame(told, lane));
  }

  /** A client that takes no answers gets no further: the next frame is read when this one is written. */
  async #write(frame: string): Promise<void> {
    // It fails when nobody reads any more, which closes the connection.
    await this.#writer.write([frame]).catch(() => undefined);
  }

  #close(): void {
    clearTimeout(this.#lifetime);
    this.#intake.stop();
    for (const { reservation } of this.#lanes.takeWaiting()) reservation.release();
    this.#opened.contexts.close();
  }
}
