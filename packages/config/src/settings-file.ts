import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from 'yaml';
import type { Problem } from './config-error.ts';
import { type Environment, fileSetting, readVariable } from './environment-variables.ts';

/** Reads a file as text. Throws an error with `code: 'ENOENT'` if there is none. */
export type ReadFile = (path: string) => string;

/** The operator's file: its data as written, and the lines of its parts. */
export interface SettingsFile {
  /** The path as the operator wrote it; absent when there is no file. */
  name?: string;
  /** Whether the file sets nothing: it is empty, or has white space and comments alone. */
  isBlank: boolean;
  data: unknown;
  /** The line of a path, or of its deepest part that is in the file. */
  lineOf: (path: readonly PropertyKey[]) => number | undefined;
  problems: Problem[];
}

interface Place {
  env: Environment;
  flags: ReadonlyMap<string, string>;
  cwd: string;
  readFile: ReadFile;
}

/** Room for some 25,000 keys, which take two seconds to parse. Bounds that cost, and that of expanding aliases. */
const largestFileCharacters = 2 ** 22;
/** How many aliases may be expanded, nested ones included: a file of ten lines can demand billions. */
const mostAliases = 100;
/** Most faults that are reported: one broken bracket can break every line after it. */
const mostFaults = 20;

/** The path of the file, whether it is there or not. */
export function settingsPath({ env, flags, cwd }: Omit<Place, 'readFile'>): string {
  return resolve(cwd, namedFile(env, flags) ?? fileSetting.default);
}

function namedFile(env: Environment, flags: ReadonlyMap<string, string>): string | undefined {
  return flags.get(fileSetting.flag) ?? readVariable(env, fileSetting.variable);
}

/** Finds and parses the file. Reports what is wrong as `problems`; a file that cannot be parsed has no data. */
export function readSettingsFile({ env, flags, cwd, readFile }: Place): SettingsFile {
  const named = namedFile(env, flags);
  const name = named ?? fileSetting.default;
  let text: string;
  try {
    text = readFile(resolve(cwd, name));
  } catch (error) {
    if (named === undefined && codeOf(error) === 'ENOENT')
      return { isBlank: false, data: {}, lineOf: () => undefined, problems: [] };
    const origin = flags.has(fileSetting.flag) ? fileSetting.flag : fileSetting.variable;
    return withoutData(name, [
      { path: named === undefined ? '' : origin, message: faultOfReading(error), file: name },
    ]);
  }
  if (text.length > largestFileCharacters) {
    return withoutData(name, [
      { path: '', message: 'the file is larger than 4 MiB; make it smaller', file: name },
    ]);
  }
  return parseSettingsFile(name, text);
}

/** Reads a file from disk as UTF-8, with or without a byte order mark. */
export function readTextFile(path: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
}

function parseSettingsFile(name: string, text: string): SettingsFile {
  const lines = new LineCounter();
  // No pretty errors, because they quote the faulty line, which may hold a key.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) return withoutData(name, problemsOfYaml(name, text, lines, faults));
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: mostAliases });
  } catch {
    // An alias has no anchor, or too many are expanded. The parser does not say where.
    const message = `holds an alias (*name) without its anchor, or more than ${mostAliases} of them; write the values out`;
    return withoutData(name, [{ path: '', message, file: name }]);
  }
  return {
    name,
    isBlank: isNothing(data),
    data: withoutEmptySections(data),
    lineOf: (path) => lineOf(document, lines, path),
    problems: [],
  };
}

/** Removes sections whose entries are all commented out. They read as null and mean the defaults. */
function withoutEmptySections(data: unknown): unknown {
  if (isNothing(data)) return {};
  if (typeof data !== 'object' || Array.isArray(data)) return data;
  return Object.fromEntries(Object.entries(data).filter(([, section]) => section !== null));
}

function isNothing(data: unknown): data is null | undefined {
  return data === null || data === undefined;
}

function lineOf(document: Document, lines: LineCounter, path: readonly PropertyKey[]): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document);
    let found: Node | undefined;
    if (isMap<Node, Node>(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key);
      offset = pair?.key.range?.[0] ?? offset;
      found = pair?.value ?? undefined;
    } else if (isSeq<Node>(node) && typeof key === 'number') {
      found = node.items[key];
      offset = found?.range?.[0] ?? offset;
    }
    if (found === undefined) break;
    node = found;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

function withoutData(name: string, problems: Problem[]): SettingsFile {
  return { name, isBlank: false, data: undefined, lineOf: () => undefined, problems };
}

function faultOfReading(error: unknown): string {
  switch (codeOf(error)) {
    case 'ENOENT':
      return 'there is no such file; create it or correct the path';
    case 'EISDIR':
      return 'is a folder; name the file in it';
    case 'EACCES':
    case 'EPERM':
      return 'the file may not be read; change its permissions or its owner';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'the file is not UTF-8 text; save it as UTF-8';
    default:
      return `the file cannot be read (${codeOf(error) ?? 'unknown error'})`;
  }
}

const sentences: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: 'is indented with a tab; use spaces',
  DUPLICATE_KEY: 'repeats a key of the same mapping; keep one',
  MULTIPLE_DOCS: 'begins a second document; remove the "---"',
  NON_STRING_KEY: 'has a key that is not text; put a name there',
  TAG_RESOLVE_FAILED: 'has a tag (!name) that is not known here; remove it',
  BAD_DQ_ESCAPE: 'has an unknown escape in double quotes; use single quotes',
  BAD_SCALAR_START: 'has a value that must be quoted because of its first character',
  RESOURCE_EXHAUSTION: 'is nested too deeply; flatten it',
};

/**
 * Explains faults of the parser in our own words: the parser's messages repeat words of the file, and a word may be a
 * key. Only the first fault without a sentence here is reported, because the others usually follow from it.
 */
function problemsOfYaml(
  name: string,
  text: string,
  lines: LineCounter,
  faults: readonly YAMLError[],
): Problem[] {
  const problems = new Map<string, Problem>();
  let isTold = false;
  for (const { code, pos } of faults) {
    const { line } = lines.linePos(pos[0]);
    let message = sentences[code];
    if (message === undefined) {
      if (isTold) continue;
      isTold = true;
      message = /[[{,].*:\s*\$\{/.test(text.split('\n')[line - 1] ?? '')
        ? 'is not valid YAML; put a ${NAME} that stands inside { } or [ ] in quotes'
        : `is not valid YAML (${code}); check indentation, colons and quotes around here`;
    }
    problems.set(`${line} ${message}`, { path: '', message, file: name, line });
  }
  return [...problems.values()].slice(0, mostFaults);
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
