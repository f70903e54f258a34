import type { Random } from './random.ts';

/** The parts of JSON Schema that zod writes for our schemas. */
export interface JsonSchema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

/** Texts that have been trouble somewhere: control characters, half a surrogate pair, Redis, HTTP, prototypes, templates. */
const oddTexts = [
  '',
  ' ',
  '\0',
  '\r\n\r\nGET / HTTP/1.1',
  '\u2028\u2029\u0085',
  '\ud800',
  '\u{1f600}',
  '*1\r\n$8\r\nFLUSHALL\r\n',
  '__proto__',
  'constructor',
  '${7*7}',
  "' OR 1=1 --",
  '../../etc/passwd',
  'NaN',
  '-0',
  '[[sluice: nothing=known]]',
  'data: {"type":"response.completed"}\n\n',
] as const;

/** Numbers at the edges of what a parser, a script or a timer can hold. */
const oddNumbers = [
  0,
  -0,
  -1,
  0.5,
  1e308,
  -1e308,
  5e-324,
  2 ** 31,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 63),
] as const;

/** A value that the schema allows, apart from rules that JSON Schema cannot say. */
export function sample(schema: JsonSchema, random: Random, depth = 0): unknown {
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return sample(random.anyOf(branches) ?? {}, random, depth);
  if ('const' in schema) return schema.const;
  if (schema.enum) return random.anyOf(schema.enum);
  const type = Array.isArray(schema.type) ? random.anyOf(schema.type) : schema.type;
  switch (type) {
    case 'string':
      return sampleText(schema, random);
    case 'integer':
      return sampleInteger(schema, random);
    case 'number':
      return (schema.minimum ?? 0) + random.next() * ((schema.maximum ?? 1) - (schema.minimum ?? 0));
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: Math.max(schema.minItems ?? 0, random.below(3)) }, () =>
        sample(schema.items ?? {}, random, depth + 1),
      );
    case 'object':
      return sampleObject(schema, random, depth);
    default:
      return 'anything';
  }
}

function sampleText({ pattern, minLength = 0, maxLength = 16 }: JsonSchema, random: Random): string {
  if (pattern !== undefined) return `name_${random.below(3)}`;
  if (random.chance(0.1)) return random.pick(oddTexts);
  const length = Math.max(minLength, Math.min(maxLength, 1 + random.below(12)));
  return 'abcdefghijklmnop'.slice(0, length);
}

function sampleInteger({ minimum = 0, maximum }: JsonSchema, random: Random): number {
  const most = Math.min(maximum ?? minimum + 100, minimum + 100);
  return minimum + random.below(most - minimum + 1);
}

function sampleObject(schema: JsonSchema, random: Random, depth: number): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const isWanted = schema.required?.includes(name) === true || random.chance(0.3 / (depth + 1));
    if (isWanted) made[name] = sample(member, random, depth + 1);
  }
  if (!schema.properties && typeof schema.additionalProperties === 'object') {
    for (let left = random.below(3); left > 0; left -= 1) {
      made[`member_${left}`] = sample(schema.additionalProperties, random, depth + 1);
    }
  }
  return made;
}

/** A place in a value, with what its schema says of it. */
export interface Spot {
  /** How an error would name it. */
  path: (string | number)[];
  schema: JsonSchema;
}

/** Every place of a value that the schema knows. A value of several branches counts for each of them. */
export function spotsOf(schema: JsonSchema, value: unknown, path: (string | number)[] = []): Spot[] {
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches)
    return branches.flatMap((branch) => (fits(branch, value) ? spotsOf(branch, value, path) : []));
  const spots: Spot[] = [{ path, schema }];
  if (Array.isArray(value) && schema.items) {
    for (const [at, item] of value.entries()) spots.push(...spotsOf(schema.items, item, [...path, at]));
  } else if (isObject(value) && schema.properties) {
    for (const [name, member] of Object.entries(schema.properties)) {
      if (name in value) spots.push(...spotsOf(member, value[name], [...path, name]));
    }
  }
  return spots;
}

/** Whether a value could be meant by a branch, by its type and the constants in it. */
function fits(schema: JsonSchema, value: unknown): boolean {
  if (schema.anyOf ?? schema.oneOf) return true;
  if ('const' in schema) return schema.const === value;
  if (schema.type === 'object' && isObject(value)) {
    return Object.entries(schema.properties ?? {}).every(
      ([name, member]) => !('const' in member) || value[name] === member.const,
    );
  }
  if (schema.type === 'array') return Array.isArray(value);
  return schema.type === typeof value || (schema.type === 'integer' && typeof value === 'number');
}

/** Longest text and list that a mutation makes, so that most bodies stay small. */
const longest = 5_000;

/** A value that should not be where the spot is. It may be valid all the same, as `null` often is. */
export function wrongValue({ schema }: Spot, random: Random): unknown {
  const wrong: unknown[] = [
    null,
    true,
    'text',
    '',
    {},
    [],
    [[]],
    { type: 'unknown' },
    [null],
    '7',
    'true',
    -1,
  ];
  wrong.push(random.pick(oddTexts), random.pick(oddNumbers), random.pick(oddNumbers));
  const { minimum, maximum, maxLength, maxItems, minItems, items, enum: words } = schema;
  if (minimum !== undefined) wrong.push(minimum - 1, minimum - 0.001, minimum + 0.5);
  if (maximum !== undefined) wrong.push(maximum + 1, maximum + 0.001, `${maximum}`);
  if (maxLength !== undefined && maxLength < longest)
    wrong.push('x'.repeat(maxLength + 1), '\u{1f600}'.repeat(maxLength));
  if (maxItems !== undefined && maxItems < longest)
    wrong.push(Array.from({ length: maxItems + 1 }, () => sample(items ?? {}, random)));
  if (minItems !== undefined) wrong.push([]);
  if (words) wrong.push(String(words[0]).toUpperCase(), `${String(words[0])} `);
  return wrong[random.below(wrong.length)];
}

/** A copy of a value with another value at a path, or with nothing there. */
export function replaced(value: unknown, path: readonly (string | number)[], by: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return by;
  if (Array.isArray(value))
    return value.map((item: unknown, at) => (at === first ? replaced(item, rest, by) : item));
  if (!isObject(value)) return value;
  return { ...value, [first]: replaced(value[first], rest, by) };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
