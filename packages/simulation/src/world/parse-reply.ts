/** A reply of the store, in version 2 of its protocol. */
export type Reply = string | number | null | Reply[];

/** Reads one reply. An error is thrown. */
export function parseReply(bytes: Buffer): Reply {
  return read(bytes.toString(), 0).reply;
}

function read(text: string, at: number): { reply: Reply; next: number } {
  const line = text.indexOf('\r\n', at);
  const first = text.slice(at + 1, line);
  const next = line + 2;
  switch (text[at]) {
    case '+':
      return { reply: first, next };
    case ':':
      return { reply: Number(first), next };
    case '$': {
      const length = Number(first);
      if (length < 0) return { reply: null, next };
      return { reply: text.slice(next, next + length), next: next + length + 2 };
    }
    case '*': {
      const replies: Reply[] = [];
      let from = next;
      for (let left = Number(first); left > 0; left -= 1) {
        const one = read(text, from);
        replies.push(one.reply);
        from = one.next;
      }
      return { reply: replies, next: from };
    }
    default:
      throw new Error(`The store answered ${text.slice(at, line)}`);
  }
}
