export {
  type ActConnection,
  type ActReply,
  ActStore,
  type ActStoreOptions,
} from './act-store.ts';
export {
  type AuditConnection,
  AuditLog,
  type AuditLogOptions,
  type AuditPage,
  type NewAuditEntry,
} from './audit-log.ts';
