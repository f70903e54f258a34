const width = 24;

/** A bar of a share from 0 to 1. */
export function barOf(share: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}
