export {
  createStoredKey,
  type IssuedKey,
  type KeyChanger,
  revokeStoredKey,
  type RotatedKey,
  rotateStoredKey,
} from './change-keys.ts';
export { type ChangedTenant, changeTenant } from './change-tenant.ts';
export { KeyChanges, type StoredKeys } from './key-changes.ts';
export { KeyChangeFailed, type KeyProblem, KeyRefusal } from './key-refusal.ts';
