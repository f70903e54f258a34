/** Says what is being measured, on a terminal and nowhere else. */
export interface Progress {
  say(text: string): void;
  /** Leaves an empty line for what is printed next. */
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
