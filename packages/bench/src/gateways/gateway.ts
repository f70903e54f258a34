/** Where a gateway serves, and what it serves in front of. */
export interface GatewayPlace {
  /** Its folder, which it was installed into. Files may be written there. */
  folder: string;
  /** On the loopback interface. */
  port: number;
  upstreamUrl: string;
  models: readonly string[];
}

export interface Command {
  file: string;
  args: readonly string[];
  env?: Record<string, string>;
}

/**
 * A gateway that people know, which passes requests on to model servers. It is installed when somebody asks for the comparison, and is no
 * dependency. It has no queue and keeps nothing: what was under way is lost with it.
 */
export interface Gateway {
  name: string;
  /** The release that is compared. */
  version: string;
  /** Installs it into an empty folder, by commands that are run there. */
  install: (folder: string, run: (command: Command) => Promise<void>) => Promise<void>;
  /** What serves, in the foreground. Writes its settings first, if it has any. */
  serve: (place: GatewayPlace) => Promise<Command>;
  /** What its callers send beside the body. */
  headers: (upstreamUrl: string) => Record<string, string>;
}
