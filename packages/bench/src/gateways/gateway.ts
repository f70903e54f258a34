import type { Installable } from '../installs.ts';
import type { Command } from '../spawned-process.ts';

/** Where a gateway serves, and what it serves in front of. */
export interface GatewayPlace {
  /** Its folder, which it was installed into. Files may be written there. */
  folder: string;
  /** On the loopback interface. */
  port: number;
  upstreamUrl: string;
  models: readonly string[];
}

/**
 * A gateway that people know, which passes requests on to model servers. It has no queue and keeps nothing: requests in flight are lost
 * with its process.
 */
export interface Gateway extends Installable {
  /** What serves, in the foreground. Writes its settings first, if it has any. */
  serve: (place: GatewayPlace) => Promise<Command>;
  /** What its callers send beside the body. */
  headers: (upstreamUrl: string) => Record<string, string>;
}
