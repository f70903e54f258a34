import type { Generation } from '@sluice/contract';

/** Longest reason that an operator is shown, in characters: a line of the journal has room for it. */
const longestReason = 256;

/** Longest request, in characters, that a reason is compared with. Every tenant of the process waits for the comparison. */
const longestHeldAgainst = 65_536;

/** Words are looked for in the request in pieces of this length: a word of one may be a part of a longer word of the other. */
const pieceLength = 6;

/** Words that every server uses for its failures. A prompt may have them as well, but they reveal nothing of it. */
const plainWords: ReadonlySet<string> = new Set(
  `a about access address after again all allocate allocated allocation allowed already an and any api are at available backend bad bandwidth be
  because been before busy but by bytes cache call can cannot capacity card client closed code compute connect connection context could crashed
  cublas cuda cudnn dead denied deprecated device did disk does down driver due during empty engine error exceeded exception execution exhausted exist
  expired failed failure fatal field file for found fragmentation free from full function gateway gb gib gpu gpus had has have hip host http id illegal
  image in incorrect initialize input instance internal invalid is it key kernel key kv large later launch layer length less limit limited limits line load
  loaded loading long longer lost maintenance many maximum mb memory mib min minute missing model more must name nccl network no node not null
  of off offline on only open operation or other our out output overload overloaded parameter per permission please pool port process processing prompt proxy
  pytorch queue quota rank rate reached read refused rejected remote replica request requests required reserved reset resource resources response
  restarting retry rocm runner runtime second segmentation server service set shut shutdown size slot slots socket space start started starting status
  still stopped stream support supported temporarily than that the their there this time timed timeout to token tokens too torch total tpu tried
  try type unable unauthorized unavailable unexpected unified unknown unreachable unsupported up upstream usage use used user value version vllm vram waiting
  warming was we weights were when while will with worker workers would you your`.split(/\s+/),
);

/** The message of a parser quotes what it could not read. That is an answer, which is not at hand to compare with. */
const mayQuote = /pars|json|grammar|decod|unexpected (?:token|char)|tool.?call/i;

const secrets: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[address]'],
  [/\S+@\S+/g, '[address]'],
  [/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?!\w)/g, '[address]'],
  [/\[?(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?!\w)(?:\]:\d+)?/gi, '[address]'],
  [/\b(?:bearer|basic)\s+\S+/gi, '[key]'],
  [/\b(key|token|secret|password|authorization)\b([^.\n:=]{0,24}[:=]\s*)\S+/gi, '$1$2[key]'],
  [/\b(?:sk|pk|rk|whsec|xox[a-z]|gh[a-z])[-_][\w-]+/g, '[key]'],
  // Keys, ids and data in Base64: letters and digits in one long word.
  [/(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])[\w+/=-]{20,}/gi, '[key]'],
  // Whatever is longer than words are.
  [/\S{60,}/g, '…'],
];

/**
 * Makes the words of an upstream about its failure safe for an operator: without keys and addresses, and without any word of
 * the request, except for plain words of failures. Undefined when nothing of meaning is left.
 *
 * Only the plain words stay if the request is too long to compare with, or if the message may quote an answer.
 */
export function readableReason(
  words: string | undefined,
  generation: Generation | undefined,
): string | undefined {
  if (words === undefined) return undefined;
  const text = secrets.reduce((some, [what, instead]) => some.replaceAll(what, instead), printable(words));
  const request = mayQuote.test(text) ? undefined : textOfRequest(generation);
  const shown = withoutWords(text, (word) => request === undefined || isIn(word, request));
  if (!/\p{L}{2}/u.test(shown.replaceAll(/\[\w+\]/g, ''))) return undefined;
  return shown.length > longestReason ? `${shown.slice(0, longestReason - 1)}…` : shown;
}

/** One line, in one form of Unicode, and with what JSON writes as escapes. */
function printable(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll(/\\[nrt]/g, ' ')
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
}

const wordOrMask = /\[(?:address|key)\]|\d+(?:\.\d+)*(?![\p{L}\p{N}_])|[\p{L}\p{M}\p{N}_]+/gu;

interface Word {
  text: string;
  from: number;
  to: number;
  isHidden: boolean;
}

/** The text with `…` for each run of words that are not to be shown. */
function withoutWords(text: string, isSecret: (word: string) => boolean): string {
  const words = [...text.matchAll(wordOrMask)].map(([found], at, all): Word => {
    const from = all[at]?.index ?? 0;
    return {
      text: found,
      from,
      to: from + found.length,
      isHidden: !isPlain(found) && !isShort(found) && isSecret(found),
    };
  });
  // A long number may be told in short ones, and short words beside a hidden one belong to it.
  for (const [at, word] of words.entries()) {
    if (isPlain(word.text) || word.isHidden || !isShort(word.text)) continue;
    const near = [words[at - 2], words[at - 1], words[at + 1], words[at + 2]];
    const isInRun = near.filter((other) => other && isShort(other.text) && !isPlain(other.text)).length >= 2;
    word.isHidden = isInRun || words[at - 1]?.isHidden === true || words[at + 1]?.isHidden === true;
  }
  let shown = '';
  let at = 0;
  for (const { from, to, isHidden } of words) {
    const between = text.slice(at, from);
    if (!isHidden) shown += between + text.slice(from, to);
    else if (!shown.endsWith('…')) shown += `${between}…`;
    at = to;
  }
  return (shown + text.slice(at)).trim();
}

function isPlain(word: string): boolean {
  return word.startsWith('[') || plainWords.has(word.toLowerCase());
}

function isShort(word: string): boolean {
  return word.length <= 2;
}

/** Whether a word, or a piece of it, stands in the request. */
function isIn(word: string, request: string): boolean {
  const lower = word.toLowerCase();
  if (lower.length <= pieceLength) return request.includes(lower);
  for (let at = 0; at + pieceLength <= lower.length; at += 1) {
    if (request.includes(lower.slice(at, at + pieceLength))) return true;
  }
  return false;
}

/** All texts of a request in lower case; undefined if it is too long to compare with, or was not read. */
function textOfRequest(generation: Generation | undefined): string | undefined {
  if (generation === undefined) return undefined;
  const texts: string[] = [];
  let left = longestHeldAgainst;
  const waiting: unknown[] = [generation];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value);
      left -= text.length + 1;
      if (left < 0) return undefined;
      texts.push(text);
    } else if (typeof value === 'object' && value !== null) {
      left -= 1;
      for (const [name, each] of Object.entries(value)) {
        // Names stand for themselves in schemas and in metadata; those of the wire are plain or harmless.
        if (left < 0) return undefined;
        if (!Array.isArray(value)) waiting.push(name);
        waiting.push(each);
      }
    }
  }
  return texts.join('\n').normalize('NFKC').toLowerCase();
}
