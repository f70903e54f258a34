import { badFlag } from '../flags/flag-values.ts';
import type { Random } from './random.ts';

/** How the caller gets its response. */
export const modes = ['whole', 'stream', 'background'] as const;
export type Mode = (typeof modes)[number];

/** The body of a request before a mode is chosen. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** Members that the flags set in each body, in place of the body's own. */
export interface BodyFlags {
  model: string | undefined;
  maxOutputTokens: number | undefined;
  serviceTier: string | undefined;
}

/** Returns the bodies of a run one after the other, without end. */
export type NextBody = () => RequestBody;

/** The most text that a file of bodies may have, in bytes. All of it stays in memory. */
export const mostInputBytes = 256 * 1024 * 1024;

/**
 * Reads bodies from JSON Lines. A line is a body, or a line of a batch file, whose `body` is one. Empty lines are skipped.
 *
 * @throws {FatalError} that names the first line that is no body.
 */
export function readBodies(text: string): RequestBody[] {
  const bodies = text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [readBody(line, at + 1)]));
  if (bodies.length === 0)
    throw badFlag('input', 'the file has no request; write one JSON object into each line');
  return bodies;
}

function readBody(line: string, number: number): RequestBody {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw badFlag('input', `line ${number} is not JSON`);
  }
  if (isObject(value) && isObject(value['body']) && 'custom_id' in value) value = value['body'];
  if (!isObject(value)) throw badFlag('input', `line ${number} is not a JSON object`);
  return value;
}

/** The bodies of a file in their order, from the first again after the last. */
export function inTurn(bodies: readonly RequestBody[]): NextBody {
  let next = 0;
  return () => {
    const body = bodies[next % bodies.length];
    next += 1;
    return body ?? {};
  };
}

/** The same words in every request. */
export function samePrompt(prompt: string): NextBody {
  return () => ({ input: prompt });
}

/**
 * Prompts of about so many tokens. No two begin alike, so that no cache of prefixes answers for the model. The words are
 * short and common: tokenizers have one token for nearly each of them.
 */
export function inventedPrompts(tokens: number, random: Random): NextBody {
  return () => ({
    input: Array.from({ length: tokens }, () => words[Math.floor(random() * words.length)]).join(' '),
  });
}

/** The mode that a body asks for by itself. */
export function ownMode(body: RequestBody): Mode {
  if (body['background'] === true) return 'background';
  return body['stream'] === true ? 'stream' : 'whole';
}

/** The JSON of a request: the body with the members that the mode and the flags set. */
export function writeBody(body: RequestBody, mode: Mode, flags: BodyFlags): string {
  const { stream: _stream, background: _background, stream_options, ...rest } = body;
  return JSON.stringify({
    ...rest,
    ...(flags.model !== undefined && { model: flags.model }),
    ...(flags.maxOutputTokens !== undefined && { max_output_tokens: flags.maxOutputTokens }),
    ...(flags.serviceTier !== undefined && { service_tier: flags.serviceTier }),
    ...(mode === 'stream' && { stream: true, ...(stream_options !== undefined && { stream_options }) }),
    ...(mode === 'background' && { background: true }),
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const words =
  `the of and to in is you that it he was for on are as with his they at be this have from or one had by
  word but not what all were we when your can said there use an each which she do how their if will up other about out
  many then them these so some her would make like him into time has look two more write go see number no way could
  people my than first water been call who oil its now find long down day did get come made may part over new sound
  take only little work know place year live me back give most very after thing our just name good sentence man think
  say great where help through much before line right too mean old any same tell boy follow came want show also around
  form three small set put end does another well large must big even such because turn here why ask went men read need
  land different home us move try kind hand picture again change off play spell air away animal house point page letter
  mother answer found study still learn should world high every near add food between own below country plant last
  school father keep tree never start city earth eye light thought head under story saw left few while along might
  close something seem next hard open example begin life always those both paper together got group often run`.split(
    /\s+/,
  );
