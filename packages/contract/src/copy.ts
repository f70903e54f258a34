/**
 * Makes a deep copy of plain JSON data.
 *
 * Every item and part passes through here. `structuredClone` also copies other kinds of objects, and it cost a worker
 * 2 to 3 % more time.
 */
export function copy<Value>(value: Value): Value {
  // Each branch returns the shape it was given, but the compiler cannot see that.
  if (Array.isArray(value)) return value.map(copy) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const copied: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) copied[name] = copy(member);
  return copied as Value;
}
