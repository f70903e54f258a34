/**
 * A deep copy of plain data: objects, arrays and what JSON has besides.
 *
 * Measured against `structuredClone`, which copes with everything else too, this took 2 to 3 % off a worker's
 * time; every item and part passes through here.
 */
export function copy<Value>(value: Value): Value {
  // The branches keep the shape they were given, which the compiler cannot follow.
  if (Array.isArray(value)) return value.map(copy) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const copied: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) copied[name] = copy(member);
  return copied as Value;
}
