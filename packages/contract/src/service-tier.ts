/** The tiers that a key may be allowed to ask for. */
export const keyTiers = ['default', 'flex', 'priority'] as const;
export type KeyTier = (typeof keyTiers)[number];

/** The tiers of this service. A response is served in one of them; that of batches is for the lines of one. */
export const serviceTiers = [...keyTiers, 'batch'] as const;
export type ServiceTier = (typeof serviceTiers)[number];

/** The tiers that a request may name: those of this service, and others of OpenAI that are mapped to them. */
export const requestableTiers = ['auto', ...keyTiers, 'scale', 'fast', 'ultrafast'] as const;

/** Returns the tier that a request asks for. Whether its key may have it is checked elsewhere. */
export function requestedTier(tier: (typeof requestableTiers)[number] | undefined): KeyTier {
  switch (tier) {
    case undefined:
    case 'auto':
    case 'default':
      return 'default';
    case 'flex':
      return 'flex';
    case 'priority':
    case 'scale':
    case 'fast':
    case 'ultrafast':
      return 'priority';
  }
}
