import type { z } from 'zod';
import { suggestName } from './nearest-name.ts';
import { expectationOf, knownKeysAt, nodeAt, type SchemaNode, valueAt } from './schema-node.ts';

/** A problem at a path, in words that do not repeat the value. */
export interface Explanation {
  path: PropertyKey[];
  message: string;
}

/** Explains an issue of the schema to the operator. `data` is the value that was checked against `tree`. */
export function explainIssue(issue: z.core.$ZodIssue, data: unknown, tree: SchemaNode): Explanation[] {
  const { path } = issue;
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = knownKeysAt(tree, path, data);
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: `is not a setting; ${suggestName(key, known)}`,
      }));
    }
    case 'invalid_union':
      return [explainKind(path, data, tree)];
    case 'invalid_key':
      return issue.issues.slice(0, 1).map(({ message }) => ({ path, message }));
    case 'custom':
    case 'invalid_format':
      return [{ path, message: issue.message }];
    default:
      return [{ path, message: explainValue(path, data, tree) }];
  }
}

function explainValue(path: PropertyKey[], data: unknown, tree: SchemaNode): string {
  const node = nodeAt(tree, path, data);
  const value = valueAt(path, data);
  if (node === undefined) return 'is not valid';
  const expectation = expectationOf(node);
  if (value === undefined) return `is missing; give ${expectation}`;
  if (node.maxLength !== undefined && typeof value === 'string' && value.length > node.maxLength) {
    return `is longer than ${node.maxLength} characters; shorten it`;
  }
  if (node.maxItems !== undefined && Array.isArray(value) && value.length > node.maxItems) {
    return `has more than ${node.maxItems} entries; remove some`;
  }
  return `must be ${expectation}${contrast(value, node)}`;
}

function explainKind(path: PropertyKey[], data: unknown, tree: SchemaNode): Explanation {
  const owner = path.at(-1) === 'type' ? path.slice(0, -1) : path;
  const kinds =
    nodeAt(tree, owner, data)?.oneOf?.map((option) => option.properties?.['type']?.const ?? '') ?? [];
  const kind = valueAt([...owner, 'type'], data);
  if (kind === undefined) return { path, message: `is missing; give one of ${kinds.join(', ')}` };
  return { path, message: `must be one of ${kinds.join(', ')}` };
}

/** The type of the value, if it is wrong. */
function contrast(value: unknown, node: SchemaNode): string {
  if (value === null) return '; it is empty';
  if (value === '') return '; it is empty';
  if (Array.isArray(value)) return node.type === 'array' ? '' : ', not a list';
  switch (typeof value) {
    case 'string':
      return node.type === 'string' ? '' : ', not text';
    case 'number':
      if (node.type === 'integer') return Number.isInteger(value) ? '' : ', not a fraction';
      return node.type === 'number' ? '' : `, not a number${quoting(node)}`;
    case 'boolean':
      return node.type === 'boolean' ? '' : `, not true or false${quoting(node)}`;
    default:
      return node.type === 'object' ? '' : ', not a mapping';
  }
}

function quoting(node: SchemaNode): string {
  return node.type === 'string' ? '; put it in quotes' : '';
}
