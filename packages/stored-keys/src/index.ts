export {
  type KeyChange,
  type KeyConnection,
  type KeySnapshot,
  KeyStore,
  type KeyStoreOptions,
} from './key-store.ts';
export { KeyWatch, type KeyWatchOptions } from './key-watch.ts';
