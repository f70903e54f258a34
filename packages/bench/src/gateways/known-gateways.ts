import type { Gateway } from './gateway.ts';
import { litellm } from './litellm.ts';
import { portkey } from './portkey.ts';

export const knownGateways: readonly Gateway[] = [portkey, litellm];
