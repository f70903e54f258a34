/** Longest pattern, in UTF-16 code units. */
const longestPattern = 1_000;

/** Most repetitions of one thing, multiplied over nested groups. The engine that matches takes no more. */
const mostRepetitions = 1_000;

/** Most things to match, with each repetition counted: the engine makes a state of every one. */
const mostStates = 10_000;

/** Deepest nesting of groups. */
const deepestGroup = 64;

/**
 * Says why a pattern cannot be matched in linear time; undefined if it can.
 *
 * It refuses look-around and references to groups, which take an engine that goes back, and repetitions that multiply. Nested
 * quantifiers such as `(a+)+` are fine. One pass over the pattern.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > longestPattern) return `has more than ${longestPattern} characters`;
  /** The cost of each open group. */
  const groups: Cost[] = [{ repetitions: 1, states: 0 }];
  /** The cost that the next quantifier repeats; undefined where it has nothing to repeat. */
  let last: Cost | undefined;
  for (let at = 0; at < pattern.length; at += 1) {
    const group = groups.at(-1);
    if (!group) return notRegular;
    let next: Cost | undefined = { repetitions: 1, states: 1 };
    switch (pattern[at]) {
      case '\\':
        if (/^[1-9k]/.test(pattern.slice(at + 1, at + 2))) return 'refers to a group';
        at += 1;
        break;
      case '[':
        at = endOfClass(pattern, at);
        break;
      case '(':
        if (/^\(\?(?:[=!]|<[=!])/.test(pattern.slice(at, at + 4))) return 'looks ahead or behind';
        if (groups.length > deepestGroup) return `has groups deeper than ${deepestGroup} levels`;
        groups.push({ repetitions: 1, states: 0 });
        last = undefined;
        continue;
      case ')':
        next = groups.pop();
        break;
      case '{': {
        const times = /^\{(\d{1,9})(?:,(\d{0,9}))?\}/.exec(pattern.slice(at, at + 24));
        if (!times || !last) break;
        const most = Math.max(Number(times[1]), Number(times[2] ?? 0), 1);
        at += times[0].length - 1;
        // The first repetition is counted already.
        next = { repetitions: last.repetitions * most, states: last.states * (most - 1) };
        break;
      }
      case '*':
      case '+':
      case '?':
        continue;
      default:
    }
    const around = groups.at(-1);
    if (!next || !around) return notRegular;
    around.states += next.states;
    around.repetitions = Math.max(around.repetitions, next.repetitions);
    if (around.repetitions > mostRepetitions) return `repeats something more than ${mostRepetitions} times`;
    if (around.states > mostStates) return `matches more than ${mostStates} things in a row`;
    last = next;
  }
  return groups.length === 1 ? undefined : notRegular;
}

interface Cost {
  repetitions: number;
  states: number;
}

const notRegular = 'is no regular expression';

/** Position of the bracket that closes a class; the end of the pattern when none does. */
function endOfClass(pattern: string, from: number): number {
  let at = from + 1;
  while (at < pattern.length && pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1;
  return at;
}
