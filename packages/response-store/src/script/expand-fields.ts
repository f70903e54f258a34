import {
  factFields,
  facts,
  type FieldName,
  placeInFacts,
  recordFields,
  storedNames,
  type Writer,
} from '../record/fields.ts';

/** Lists of fields that a script may read by a name instead of spelling them out; TypeScript reads the same list. */
export type FieldLists = Readonly<Record<string, readonly FieldName[]>>;

/** The fields that a script may write, and the writer that it is. */
export interface WritingScript {
  /** The name of the script, for messages. */
  transition: string;
  /** The writer in whose name it runs. */
  by: Writer;
  /** Every field that it writes, changes or clears, its fragments included. */
  writes?: readonly FieldName[];
  /** Fields that it writes as the arguments of the same names, where the list of what it writes has the word `kept`. */
  kept?: readonly FieldName[];
}

/**
 * Replaces calls that name fields of a record by the Redis commands they stand for.
 *
 * - `read(record, 'status seq')` gives a table with these members, numbers where the field table says so, and
 *   behind it the values as the store gave them; the second argument may be the name of a list instead
 * - `write(record, { status = word, seq = 2 })`, `write_once(record, 'cancel', reason)`
 * - `write_present(record, { watchers = word })` leaves out what is an empty text; the word `kept` among the members stands
 *   for the fields that the script keeps as they are told
 * - `add(record, 'attempt', -1)`, `clear(record, 'left_at')`
 * - `size(record, 'input')` is the length of a field in bytes, 0 for one that is absent
 *
 * The text is replaced once, when a script is loaded, so a name costs nothing when it runs.
 *
 * @throws {TypeError} for a field that is not in the table, or that this script does not say it writes, or may not write.
 */
export function expandFields(lua: string, script: WritingScript, lists: FieldLists = {}): string {
  const expand = (name: string, args: readonly string[]): string => {
    const [record = '', ...rest] = args;
    switch (name) {
      case 'read':
        return readCall(record, namesIn(rest[0] ?? '', lists));
      case 'write':
      case 'write_present': {
        const members = membersOf(rest[0] ?? '', script.kept);
        const names = new Map(members.map(([field, value]) => [writable(field, script), value]));
        const pairs = [...factsOf(names), ...ownFieldsOf(names)].join(', ');
        return name === 'write'
          ? `redis.call('HSET', ${record}, ${pairs})`
          : `redis.call('HSET', ${record}, unpack(present({ ${pairs} })))`;
      }
      case 'write_once':
        return `redis.call('HSETNX', ${record}, '${own(writable(unquoted(rest[0] ?? ''), script))}', ${rest[1]})`;
      case 'add':
        return `redis.call('HINCRBY', ${record}, '${own(writable(unquoted(rest[0] ?? ''), script))}', ${rest[1]})`;
      case 'size':
        return `redis.call('HSTRLEN', ${record}, '${own(known(unquoted(rest[0] ?? '')))}')`;
      case 'clear': {
        const names = unquoted(rest[0] ?? '').split(' ');
        return `redis.call('HDEL', ${record}, ${names.map((each) => `'${own(writable(each, script))}'`).join(', ')})`;
      }
      default:
        throw new TypeError(`'${name}' is not a call about fields`);
    }
  };
  let expanded = '';
  let rest = withoutComments(lua);
  for (;;) {
    const found = /(?<![\w.:])(read|write|write_present|write_once|add|clear|size)\(/.exec(rest);
    if (!found) return expanded + rest;
    const open = found.index + found[0].length;
    const { parts, end } = split(rest, open, ')');
    expanded += rest.slice(0, found.index) + expand(found[1] ?? '', parts);
    rest = rest.slice(end);
  }
}

function readCall(record: string, names: readonly FieldName[]): string {
  const asked = storedNames(names).map((name) => `'${name}'`);
  const asFacts = factFields.filter((name) => names.includes(name));
  const ownNames = names.filter((name) => placeInFacts(name) === undefined);
  const first = asFacts.length === 0 ? 1 : 2;
  const members = names.map((name) => {
    if (placeInFacts(name) !== undefined) return `${name} = ${factValue(name)}`;
    return `${name} = ${luaValue(name, `v[${ownNames.indexOf(name) + first}]`)}`;
  });
  const locals = asFacts.length === 0 ? '' : `${factLocals(asFacts)} `;
  return `(function(v) ${locals}return { ${members.join(', ')} }, v end)(redis.call('HMGET', ${record}, ${asked.join(', ')}))`;
}

/** Takes these facts out of their value, by one pattern that captures no others. */
function factLocals(names: readonly FieldName[]): string {
  const last = Math.max(...names.map((name) => placeInFacts(name) ?? 0));
  const parts = factFields.slice(0, last + 1).map((name) => (names.includes(name) ? '([^\\n]*)' : '[^\\n]*'));
  const locals = names.map((name) => `_${name}`).join(', ');
  return `local ${locals} = string.match(v[1] or '', '^${parts.join('\\n')}')`;
}

function factValue(name: FieldName): string {
  // An empty text is none, and no number.
  return recordFields[name].type === 'text'
    ? `(_${name} ~= '' and _${name} or nil)`
    : luaValue(name, `_${name}`);
}

/** The facts as one value, from the only call that writes any: they stand together or not at all. */
function factsOf(members: ReadonlyMap<FieldName, string>): string[] {
  if (!factFields.some((name) => members.has(name))) return [];
  const missing = factFields.filter((name) => !members.has(name));
  if (missing.length > 0) throw new TypeError(`Facts are written together; missing: ${missing.join(' ')}`);
  const values = factFields.map((name) => members.get(name));
  return [`'${facts}', table.concat({ ${values.join(', ')} }, '\\n')`];
}

function ownFieldsOf(members: ReadonlyMap<FieldName, string>): string[] {
  return [...members].flatMap(([name, value]) =>
    placeInFacts(name) === undefined ? [`'${name}', ${value}`] : [],
  );
}

/** A field of the hash, which a fact is not: nothing changes it or asks for its size. */
function own(name: FieldName): FieldName {
  if (placeInFacts(name) !== undefined) throw new TypeError(`The field '${name}' is one of the facts`);
  return name;
}

function luaValue(name: FieldName, value: string): string {
  switch (recordFields[name].type) {
    case 'number':
      return `tonumber(${value})`;
    case 'flag':
      return `${value} == '1'`;
    case 'text':
    case 'status':
      return value;
  }
}

function namesIn(argument: string, lists: FieldLists): readonly FieldName[] {
  if (!argument.startsWith("'")) {
    const list = lists[argument];
    if (!list) throw new TypeError(`There is no list of fields named '${argument}'`);
    return list;
  }
  return unquoted(argument).split(' ').map(known);
}

function known(name: string): FieldName {
  if (!Object.hasOwn(recordFields, name)) throw new TypeError(`A record has no field '${name}'`);
  return name as FieldName; // checked by hasOwn
}

function writable(name: string, { transition, by, writes = [] }: WritingScript): FieldName {
  const field = known(name);
  if (!writes.includes(field)) {
    throw new TypeError(`The script '${transition}' writes the field '${field}' and does not say so`);
  }
  const writers: readonly Writer[] = recordFields[field].writers;
  if (!writers.includes(by)) {
    throw new TypeError(`The script '${transition}' may not write the field '${field}': it is by '${by}'`);
  }
  return field;
}

/** Name and value of each member of a table constructor. */
function membersOf(table: string, kept: readonly FieldName[] = []): [string, string][] {
  const { parts } = split(table, table.indexOf('{') + 1, '}');
  return parts
    .filter((part) => part !== '')
    .flatMap((part): [string, string][] => {
      if (part === 'kept') return kept.map((name) => [name, name]);
      const equals = part.indexOf('=');
      return [[part.slice(0, equals).trim(), part.slice(equals + 1).trim()]];
    });
}

/** The parts between commas from a position on, up to the bracket that closes; `end` lies behind that. */
function split(text: string, from: number, closing: ')' | '}'): { parts: string[]; end: number } {
  const parts: string[] = [];
  let depth = 0;
  let start = from;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === "'") at = text.indexOf("'", at + 1);
    else if ('({['.includes(character)) depth += 1;
    else if (depth === 0 && character === closing) {
      return { parts: [...parts, text.slice(start, at).trim()], end: at + 1 };
    } else if (')}]'.includes(character)) depth -= 1;
    else if (depth === 0 && character === ',') {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  throw new TypeError(`A call about fields has no '${closing}'`);
}

function unquoted(text: string): string {
  return text.replace(/^'(.*)'$/, '$1');
}

/** Drops comments, which hold brackets and quotes of their own. No text of our scripts contains two dashes. */
function withoutComments(lua: string): string {
  return lua
    .split('\n')
    .map((line) => line.replace(/\s*--.*$/, ''))
    .filter((line) => line.trim() !== '')
    .join('\n');
}
