/** The memory of this process for reading, of which each tenant has a share. */
export interface MemoryBudget {
  /** Holds nothing yet. */
  open: (tenant: string) => MemoryShare;
}

/** Bytes that are held. Their owner releases them. */
export interface MemoryShare {
  /** Takes so many bytes more, or throws a `ServiceError` and takes none. */
  grow(bytes: number): void;
  /** Takes so many bytes more once there is room for them. Rejects with the reason of the signal. */
  growInTurn(bytes: number, signal: AbortSignal): Promise<void>;
  /** Gives all of them back. Twice is fine. */
  release(): void;
}

/** Memory that is held for operators counts against no tenant: none has this name. */
export const operators = '';
