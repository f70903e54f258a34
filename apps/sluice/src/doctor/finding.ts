/** The finding of a check. `bad` keeps the service from working as promised, `warn` does not. */
export interface Finding {
  verdict: 'good' | 'warn' | 'bad';
  /** The thing that was checked, in a word or two. */
  subject: string;
  /** The state of it, and what to change if that is not good. */
  message: string;
}

export function good(subject: string, message: string): Finding {
  return { verdict: 'good', subject, message };
}

export function warn(subject: string, message: string): Finding {
  return { verdict: 'warn', subject, message };
}

export function bad(subject: string, message: string): Finding {
  return { verdict: 'bad', subject, message };
}
