import { type KeywordForm, keywordOf } from './schema-keywords.ts';
import { isObject } from '../is-object.ts';
import { schemasIn } from './strict-schema-problem.ts';

/**
 * Copies a strict schema without everything that does not decide whether a value is valid: titles, examples, `$id`, and what
 * no draft knows. Whoever validates with the copy meets nothing that was not checked.
 */
export function plainSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const plain: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    const keyword = keywordOf(name);
    if (keyword) plain[name] = plainValue(keyword.form, value);
  }
  return plain;
}

function plainValue(form: KeywordForm, value: unknown): unknown {
  const parts = new Set(schemasIn(form, value));
  const copy = (part: unknown) => (parts.has(part) ? plainSchema(part) : part);
  if (parts.has(value)) return plainSchema(value);
  if (parts.size > 0 && Array.isArray(value)) return value.map(copy);
  if (parts.size === 0 || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copy(part)]));
}
