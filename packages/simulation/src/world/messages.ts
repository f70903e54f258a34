/** A command in the protocol of Redis. */
export function asCommand(args: readonly string[]): Buffer {
  const parts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  return Buffer.from(`*${args.length}\r\n${parts.join('')}`);
}

/** Splits what was written at once into its commands: a process may die between two of them. */
export function commandsIn(bytes: Buffer): Buffer[] {
  const commands: Buffer[] = [];
  let from = 0;
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== asterisk) return [...commands, bytes.subarray(from)];
    let line = bytes.indexOf('\r\n', at);
    if (line === -1) break;
    let left = Number(bytes.toString('latin1', at + 1, line));
    at = line + 2;
    for (; left > 0; left -= 1) {
      line = bytes.indexOf('\r\n', at);
      if (line === -1) return [...commands, bytes.subarray(from)];
      at = line + 2 + Number(bytes.toString('latin1', at + 1, line)) + 2;
    }
    // One that is not whole goes with the bytes that follow.
    if (at > bytes.length) break;
    commands.push(bytes.subarray(from, at));
    from = at;
  }
  return from < bytes.length ? [...commands, bytes.subarray(from)] : commands;
}

const asterisk = 0x2a;

/** For how long a command waits for a replica at most, in milliseconds; undefined for any other command. */
export function waitIn(command: Buffer): number | undefined {
  const milliseconds = /^\*3\r\n\$4\r\nwait\r\n\$1\r\n1\r\n\$\d+\r\n(\d+)\r\n$/i.exec(
    command.toString('latin1', 0, 64),
  )?.[1];
  return milliseconds === undefined ? undefined : Number(milliseconds);
}

/** The beginning of a message, for the log. */
export function printed(bytes: Buffer): string {
  return bytes
    .toString('latin1', 0, 400)
    .replaceAll(/[*$]\d+\r\n/g, '')
    .replaceAll('\r\n', ' ')
    .replaceAll(/[^\x20-\x7e]+/g, '.')
    .slice(0, 160);
}
