import type { World } from '../world/world.ts';
export const rarePaths: string[] = [];
export function reachedIn(w: World) { return new Map<string, number>(w.messages) }
