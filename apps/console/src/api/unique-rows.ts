/** The rows without those whose key came before. A row without a key is kept. */
export function uniqueRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string | null): Row[] {
  const seen = new Set<string>();
  return rows.filter((row) => {
    const key = keyOf(row);
    if (key === null) return true;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
