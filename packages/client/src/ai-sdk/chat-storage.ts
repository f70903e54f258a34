/** Keeps a short text for each chat, so that a page that is loaded again finds the response it was reading. */
export interface ChatStorage {
  get(chatId: string): string | undefined | Promise<string | undefined>;
  set(chatId: string, value: string): void | Promise<void>;
  delete(chatId: string): void | Promise<void>;
}

/** For as long as the process lives: enough for tests, and for a chat that need not survive a reload. */
export function memoryStorage(): ChatStorage {
  const values = new Map<string, string>();
  return {
    get: (chatId) => values.get(chatId),
    set: (chatId, value) => void values.set(chatId, value),
    delete: (chatId) => void values.delete(chatId),
  };
}

/** What `sessionStorage` and `localStorage` are. */
type WebStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

const prefix = 'sluice:chat:';

/**
 * The storage of the page: that of its tab, which survives a reload, or else that of its site, or else memory. A page that
 * may not write there, or whose storage is full, goes on without.
 */
export function pageStorage(): ChatStorage {
  const storage = webStorage();
  if (!storage) return memoryStorage();
  return {
    get: (chatId) => storage.getItem(prefix + chatId) ?? undefined,
    set(chatId, value) {
      try {
        storage.setItem(prefix + chatId, value);
      } catch {
        // It is full: the response is read to its end all the same, unless the page is loaded again.
        storage.removeItem(prefix + chatId);
      }
    },
    delete: (chatId) => storage.removeItem(prefix + chatId),
  };
}

function webStorage(): WebStorage | undefined {
  for (const name of ['sessionStorage', 'localStorage'] as const) {
    try {
      // Absent outside of a page, and in some pages a mere look at it is an error.
      const storage = (globalThis as Partial<Pick<typeof globalThis, typeof name>>)[name];
      if (storage) return storage;
    } catch {
      continue;
    }
  }
  return undefined;
}
