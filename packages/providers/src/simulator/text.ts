/** Words for the simulator. One token is one word with the space before it. */

const openings = [
  'Here is what you sent',
  'You wrote',
  'I read your message',
  'Thank you, this arrived',
] as const;

const explanations = [
  'This answer comes from the built-in simulator, so no model was asked.',
  'No model is behind this answer: it comes from the simulator that is built in.',
  'The simulator wrote this, and it needs no model and no network.',
] as const;

const paths = [
  'Your request took the same road as any other: it was accepted, waited in the queue, was run by a worker, and came back event by event.',
  'It went through the queue and a worker like every other request, and each piece was logged before you saw it.',
] as const;

const endings = [
  'Give this model a route to a real server and the words will be real as well.',
  'Point a route at a model server whenever you like, and nothing else has to change.',
  'The same request gets the same answer, which is handy in tests.',
] as const;

const filler = [
  'Water waits behind the gate until there is room for it.',
  'When the gate opens, it leaves in the order it came.',
  'A low stream and a flood pass the same way, one measure at a time.',
  'Nothing that was let in is lost, and nothing overtakes without a right to.',
] as const;

/** Most characters of the client's text that are quoted. */
const maxQuote = 160;

export interface TextTopic {
  /** The last text of the user. */
  userText: string;
  /** The outputs of tools since then. */
  toolOutputs: readonly { name: string; output: string }[];
  /** Pictures and files in the last message. */
  mediaCount: number;
}

/** A short answer that quotes the prompt. The same topic and seed give the same words. */
export function answerText({ userText, toolOutputs, mediaCount }: TextTopic, seed: number): string {
  const sentences: string[] = [];
  if (toolOutputs.length > 0) {
    for (const { name, output } of toolOutputs)
      sentences.push(`The tool ${name} returned: ${quote(output)}.`);
    if (userText !== '') sentences.push(`That should answer "${quote(userText)}".`);
  } else if (userText !== '') {
    sentences.push(`${pick(openings, seed)}: "${quote(userText)}".`);
  }
  if (mediaCount > 0) {
    sentences.push(
      mediaCount === 1 ? 'One attachment came with it.' : `${mediaCount} attachments came with it.`,
    );
  }
  sentences.push(pick(explanations, seed >>> 4));
  if (toolOutputs.length === 0) sentences.push(pick(paths, seed >>> 8), pick(endings, seed >>> 12));
  return sentences.join(' ');
}

export function refusalText(): string {
  return "I'm sorry, but I can't help with that request.";
}

/** The simulator's reasoning, as the summary of a reasoning item. */
export function reasoningText(userText: string): string {
  const topic = userText === '' ? 'The message is empty' : `The user asks about "${quote(userText, 60)}"`;
  return `${topic}. A short and friendly answer will do, and it should say where it comes from.`;
}

/** The words of a text, each with the space before it, and then filler up to `count`. */
export function* wordsOf(text: string, count?: number): Generator<string, void, undefined> {
  const words = text.split(/(?=\s)/).filter((word) => word !== '');
  const most = count ?? words.length;
  for (let at = 0; at < most; at += 1) {
    const word = words[at] ?? fillerWords[(at - words.length) % fillerWords.length];
    if (word !== undefined) yield word;
  }
}

const fillerWords = filler
  .join(' ')
  .split(' ')
  .map((word) => ` ${word}`);

/** Pieces of four characters, about a token each. Surrogate pairs are not split. */
export function* piecesOf(text: string): Generator<string, void, undefined> {
  let from = 0;
  while (from < text.length) {
    let to = Math.min(from + 4, text.length);
    if (isHighSurrogate(text.charCodeAt(to - 1)) && to < text.length) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function quote(text: string, most: number = maxQuote): string {
  const line = text
    .slice(0, most + 1)
    .replace(/\s+/g, ' ')
    .trim();
  if (text.length <= most) return line.replace(/[.\s]+$/, '');
  return `${line
    .slice(0, most)
    .trimEnd()
    .replace(/[\ud800-\udbff]$/, '')}…`;
}

function pick(from: readonly string[], seed: number): string {
  return from[seed % from.length] ?? '';
}
