/** Shows what is being measured, on a terminal only. */
export interface Progress {
  say(text: string): void;
  /** Clears the line for the next output. */
  clear(): void;
}

export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const write = (text: string) => {
    if (!stream.isTTY) return;
    stream.cursorTo(0);
    stream.clearLine(0);
    stream.write(text);
  };
  return { say: (text) => write(text), clear: () => write('') };
}
