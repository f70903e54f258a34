import type { AuditEntry } from '@sluice/contract/admin';

/** Something that was done: its entry `asked` and that of its outcome as one. */
export interface AuditRow {
  id: string;
  at: number;
  action: string;
  target: string;
  address: string;
  /** `asked`: there is no outcome, because the act is still under way or its process died before it could record one. */
  outcome: AuditEntry['outcome'];
  detail: string | null;
}

/**
 * Entries, newest first, as rows in the same order. An outcome whose `asked` is on a page that is not loaded yet is a row by itself,
 * and stays the same row when that page comes.
 */
export function auditRows(entries: readonly AuditEntry[]): AuditRow[] {
  const rows = new Map<string, AuditRow>();
  for (const { id, at, action, target, address, outcome, detail, asked } of entries) {
    const known = rows.get(asked ?? id);
    if (known !== undefined) {
      // The act was asked for at the older of its entries.
      known.at = Math.min(known.at, at);
      continue;
    }
    rows.set(asked ?? id, { id: asked ?? id, at, action, target, address, outcome, detail });
  }
  return [...rows.values()];
}

/** The words of the audit log as sentences. They name the request, because it may have been refused. */
const phrases: Readonly<Record<string, string>> = {
  'response.cancel': 'Cancel a response',
  'response.retry': 'Retry a response',
  'response.reveal': 'Show prompt and answer',
  'responses.cancel': 'Cancel all that match',
  'responses.retry': 'Retry all that match',
  'act.stop': 'Stop an act on many',
  'queue.pause': 'Pause a queue',
  'queue.resume': 'Resume a queue',
  'queue.drain': 'Drain a queue',
  'key.create': 'Create a key',
  'key.revoke': 'Revoke a key',
  'tenant.limit': 'Change limits',
  'model.add': 'Add a model',
  'model.change': 'Change a model',
  'model.remove': 'Remove a model',
  'cell.add': 'Add a cell',
  'cell.drain': 'Drain a cell',
  'cell.open': 'Open a cell',
  'cell.remove': 'Remove a cell',
  'provider.add': 'Add a provider',
  'provider.change': 'Change a provider',
  'provider.remove': 'Remove a provider',
  'delivery.send': 'Send a webhook again',
  'token.refused': 'Send a wrong action token',
};

/** An action in words; the word of the log for one that is not known here. */
export function actionWords(action: string): string {
  return Object.hasOwn(phrases, action) ? (phrases[action] ?? action) : action;
}

/** The target of an act. */
export type AuditTarget =
  | { kind: 'response'; id: string }
  | { kind: 'filter'; search: Record<string, string[]>; text: string }
  | { kind: 'queue' | 'tenant' | 'text'; text: string };

export function targetOf({ action, target }: Pick<AuditRow, 'action' | 'target'>): AuditTarget {
  if (action.startsWith('responses.')) return filterOf(target);
  if (action.startsWith('response.')) return { kind: 'response', id: target };
  if (action.startsWith('queue.')) return { kind: 'queue', text: target };
  if (action === 'key.create' || action === 'tenant.limit') return { kind: 'tenant', text: target };
  return { kind: 'text', text: target };
}

/** A filter as the address of the list of responses has it. One that was too long for the log is shown as it is. */
function filterOf(target: string): AuditTarget {
  try {
    const filter: unknown = JSON.parse(target);
    if (typeof filter !== 'object' || filter === null) return { kind: 'text', text: target };
    const search = Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [
        name,
        (Array.isArray(value) ? value : [value]).map(String),
      ]),
    );
    const parts = Object.entries(search).map(([name, values]) => `${name} ${values.join(' or ')}`);
    return { kind: 'filter', search, text: parts.length === 0 ? 'every response' : parts.join(', ') };
  } catch {
    return { kind: 'text', text: target };
  }
}
