import { z } from 'zod';
import { settingsSchema } from './settings-schema.ts';

/** One setting in the schema, with its metadata. */
export interface SchemaNode {
  type?: string;
  description?: string;
  unit?: string;
  secret?: boolean;
  default?: unknown;
  const?: string;
  enum?: string[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  required?: string[];
  properties?: Record<string, SchemaNode>;
  additionalProperties?: SchemaNode | false;
  items?: SchemaNode;
  oneOf?: SchemaNode[];
}

/** The tree of all settings. It takes some milliseconds to build, so it is built only for errors and documentation. */
export function settingsTree(): SchemaNode {
  // The cast holds: zod's JSON Schema has these fields, and passes on our metadata (`unit`, `secret`, …).
  return z.toJSONSchema(settingsSchema, { io: 'input' }) as SchemaNode;
}

/** The node of one entry of `value`. In a union, the `type` of `value` selects the kind. */
function childNode(node: SchemaNode, key: PropertyKey, value: unknown): SchemaNode | undefined {
  const own = node.oneOf?.find((kind) => kind.properties?.['type']?.const === fieldOf(value, 'type')) ?? node;
  if (typeof key === 'number') return own.items;
  if (typeof key !== 'string') return undefined;
  if (own.properties !== undefined)
    return Object.hasOwn(own.properties, key) ? own.properties[key] : undefined;
  return own.additionalProperties === false ? undefined : own.additionalProperties;
}

/** The node at a path of `value`, which belongs to `tree`. */
export function nodeAt(
  tree: SchemaNode,
  path: readonly PropertyKey[],
  value: unknown,
): SchemaNode | undefined {
  let node: SchemaNode | undefined = tree;
  let current = value;
  for (const key of path) {
    if (node === undefined) return undefined;
    node = childNode(node, key, current);
    current = fieldOf(current, key);
  }
  return node;
}

/** The known keys at a path of `value`. */
export function knownKeysAt(tree: SchemaNode, path: readonly PropertyKey[], value: unknown): string[] {
  const node = nodeAt(tree, path, value);
  const kind = fieldOf(valueAt(path, value), 'type');
  const own = node?.oneOf?.find((option) => option.properties?.['type']?.const === kind) ?? node;
  return Object.keys(own?.properties ?? {});
}

/** The value at a path; undefined if there is none. */
export function valueAt(path: readonly PropertyKey[], value: unknown): unknown {
  return path.reduce(fieldOf, value);
}

/** Describes the values that a setting allows: `a whole number from 1 to 64`. */
export function expectationOf(node: SchemaNode): string {
  if (node.const !== undefined) return node.const;
  if (node.enum !== undefined) return `one of ${node.enum.join(', ')}`;
  if (node.oneOf !== undefined) return 'a mapping of settings';
  switch (node.type) {
    case 'integer':
      return `a whole number ${rangeOf(node)}`;
    case 'number':
      return `a number ${rangeOf(node)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return (node.minItems ?? 0) > 0 ? 'a list with at least one entry' : 'a list';
    case 'object':
      return 'a mapping of settings';
    default:
      return (node.minLength ?? 0) > 1 ? `text of at least ${node.minLength} characters` : 'text';
  }
}

/** The default of a setting as written in the file; undefined if there is none. */
export function defaultOf(node: SchemaNode): string | undefined {
  if (node.default === undefined || node.properties !== undefined) return undefined;
  return typeof node.default === 'string' ? node.default : JSON.stringify(node.default);
}

function rangeOf(node: SchemaNode): string {
  const unit = node.unit === undefined ? '' : ` ${node.unit}`;
  if (node.exclusiveMinimum !== undefined)
    return `above ${node.exclusiveMinimum} and up to ${node.maximum}${unit}`;
  return `from ${node.minimum} to ${node.maximum}${unit}`;
}

function fieldOf(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}
