export { chooseStore } from './choose-store.ts';
export type { StoreChoice, StoreKind, StoreSurroundings } from './choose-store.ts';
export { startStore } from './start-store.ts';
export type { RunningStore, StartStoreOptions, StoreExit } from './start-store.ts';
