import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { isRepeatable, isTerminal, statuses } from '@sluice/contract';
import type { RedisCommands } from '../record/connection.ts';
import { recordVersion } from '../record/fields.ts';
import type { Printed } from '@sluice/contract/print-long';
import { expandFields, type FieldLists, type WritingScript } from './expand-fields.ts';

export interface ScriptDefinition<Key extends string, Arg extends string>
  extends Omit<WritingScript, 'transition'> {
  /** The Lua file, named after its transition. */
  file: URL;
  /** Lua that the script builds on, in order. */
  fragments?: readonly URL[];
  /** Names of KEYS, in order; the script has a local of each name. Further keys are the list `more_keys`. */
  keys: readonly Key[];
  /** Names of ARGV, in order; texts, or numbers for those in `numbers`. Further arguments begin at `more_args`. */
  args: readonly Arg[];
  numbers?: readonly NoInfer<Arg>[];
  lists?: FieldLists;
}

export interface ScriptInput<Key extends string, Arg extends string> {
  keys: Record<Key, string>;
  args: Record<Arg, Printed | number>;
  moreKeys?: readonly string[];
  moreArgs?: readonly Printed[];
}

/** Runs a script; the reply is as Redis gave it. */
export type Script<Key extends string, Arg extends string> = (
  redis: RedisCommands,
  input: ScriptInput<Key, Arg>,
) => Promise<unknown>;

/**
 * Makes a Lua script callable by the names of its keys and arguments.
 *
 * Its files are read now, and the text is put together at the first call, since most processes need few of the scripts: status words and the record version, the fragments,
 * a local for each key and argument, and the file itself with its fields expanded. Calls go by digest; a server that does not know the script (a
 * restart, a failover, SCRIPT FLUSH) is sent its text once, so a lost script cache is never seen by a caller.
 */
export function defineScript<Key extends string, Arg extends string>(
  definition: ScriptDefinition<Key, Arg>,
): Script<Key, Arg> {
  const { keys, args } = definition;
  // An upgrade may put other files in their place while the process runs.
  for (const file of filesOf(definition)) luaIn(file);
  let known: DigestedScript | undefined;
  let atShard: DigestedScript | undefined;
  return async (redis, input) => {
    const isAtShard = redis.publishCommand === 'SPUBLISH';
    const usual = (known ??= digested(scriptText(definition)));
    const { lua, digest } = isAtShard
      ? (atShard ??= digested(usual.lua.replace(publishing('PUBLISH'), publishing('SPUBLISH'))))
      : usual;
    const values: (Printed | number)[] = [];
    for (const name of keys) values.push(input.keys[name]);
    if (input.moreKeys) values.push(...input.moreKeys);
    const keyCount = values.length;
    for (const name of args) values.push(input.args[name]);
    if (input.moreArgs) values.push(...input.moreArgs);
    try {
      return await redis.evalsha(digest, keyCount, ...values);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return redis.eval(lua, keyCount, ...values);
    }
  };
}

interface DigestedScript {
  lua: string;
  digest: string;
}

function digested(lua: string): DigestedScript {
  return { lua, digest: createHash('sha1').update(lua).digest('hex') };
}

/** The command by which a script publishes. */
const publishing = (command: 'PUBLISH' | 'SPUBLISH') => `local PUBLISH = '${command}'`;

function filesOf({ file, fragments = [] }: ScriptDefinition<string, string>): URL[] {
  return [...fragments, file];
}

const luaByFile = new Map<string, string>();

/** The Lua of a file, as it was when a script was first defined by it. */
function luaIn(file: URL): string {
  const lua = luaByFile.get(file.href) ?? readFileSync(file, 'utf8');
  luaByFile.set(file.href, lua);
  return lua;
}

/** The whole text of a script, as a server gets it that is no part of a cluster. */
function scriptText(definition: ScriptDefinition<string, string>): string {
  const { file, keys, args, numbers = [], lists } = definition;
  const script = { ...definition, transition: basename(file.pathname, '.lua') };
  const files = filesOf(definition).map((each) => expandFields(luaIn(each), script, lists));
  const argument = (name: string, at: number) =>
    numbers.includes(name) ? `tonumber(ARGV[${at + 1}])` : `ARGV[${at + 1}]`;
  const locals = [
    ...declare(keys, (_name, at) => `KEYS[${at + 1}]`),
    ...declare(args, argument),
    `local more_keys, more_args = ${keys.length + 1}, ${args.length + 1}`,
  ];
  const main = files.pop() ?? '';
  return [statusWords, publishing('PUBLISH'), ...files, ...locals, main].join('\n');
}

function declare(names: readonly string[], value: (name: string, at: number) => string): string[] {
  return names.length === 0 ? [] : [`local ${names.join(', ')} = ${names.map(value).join(', ')}`];
}

/** The words of the transition table that scripts use, so that none of them spells a status, and what `write_present` needs. */
const statusWords = [
  ...statuses.map((status) => `local ${status.toUpperCase()} = '${status}'`),
  `local VERSION = '${recordVersion}'`,
  `local function is_open(status) return ${anyOf(statuses.filter((status) => !isTerminal(status)))} end`,
  'local function present(pairs) local kept = {} for at = 1, #pairs, 2 do if pairs[at + 1] ~= "" then ' +
    'kept[#kept + 1] = pairs[at] kept[#kept + 1] = pairs[at + 1] end end return kept end',
  `local function is_repeatable(status) return ${anyOf(statuses.filter(isRepeatable))} end`,
].join('\n');

function anyOf(words: readonly string[]): string {
  return words.map((word) => `status == ${word.toUpperCase()}`).join(' or ');
}

/** The reply of a script that answers with a list; everything in it is text or absent. */
export function textReply(reply: unknown): (string | undefined)[] {
  if (!Array.isArray(reply)) throw new TypeError('A script answered with something that is no list');
  return reply.map(text);
}

function text(value: unknown): string | undefined {
  // oxlint-disable-next-line typescript/no-base-to-string -- the protocol has texts, numbers and absence here
  return value === null || value === undefined ? undefined : String(value);
}
