/**
 * A failure that the operator can fix. `runProcess` prints its message as one line on standard error, without a
 * stack, and exits with `exitCode`: 1 for a failure, 2 for a wrong setting. The message says what to change and
 * holds no secret.
 */
export class FatalError extends Error {
  readonly exitCode: 1 | 2;
  /** Whether a child process has already reported it. It is then not printed again. */
  readonly isReported: boolean;

  constructor(message: string, options: { exitCode?: 1 | 2; isReported?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'FatalError';
    this.exitCode = options.exitCode ?? 1;
    this.isReported = options.isReported ?? false;
  }
}

/** The error as a `FatalError` if it is one or has an `exitCode`. Undefined for any other, which is a defect. */
export function asFatalError(error: unknown): FatalError | undefined {
  if (error instanceof FatalError) return error;
  if (!(error instanceof Error) || !('exitCode' in error)) return undefined;
  const { exitCode, message } = error;
  return exitCode === 1 || exitCode === 2 ? new FatalError(message, { exitCode, cause: error }) : undefined;
}

/** Where a server was told to listen, and the settings that say so. */
export interface ListenTarget {
  host: string;
  port: number;
  /** Name of the setting that changes the port, such as `PORT`. */
  portSetting: string;
  /** Name of the setting that changes the address, such as `HOST`. */
  hostSetting: string;
}

/**
 * Turns the error of a failed `listen` into a `FatalError` that names the setting to change. Errors that are not about
 * the address come back as they are.
 */
export function listenFailure(error: unknown, target: ListenTarget): unknown {
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return new FatalError(
        `Port ${target.port} on ${target.host} is taken: stop the process that listens there, or set ${target.portSetting} to another port.`,
        { exitCode: 1, cause: error },
      );
    case 'EACCES':
      return new FatalError(
        `Port ${target.port} on ${target.host} needs more rights: set ${target.portSetting} to a port above 1023.`,
        { exitCode: 2, cause: error },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new FatalError(
        `${target.host} is no address of this machine: set ${target.hostSetting} to one that is, such as 127.0.0.1.`,
        { exitCode: 2, cause: error },
      );
    default:
      return error;
  }
}

/** The `code` of a system error, or undefined when the value has none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
