import type { FastifyRequest } from 'fastify';
import type { AskedAct } from '../../acting/audit.ts';

/** Most characters of what is named, in the audit log and in that of the process: a path can be long. */
const longestTarget = 500;

/** An act of a request as the audit log names it. */
export function askedAct({ raw }: FastifyRequest, action: string, target: string): AskedAct {
  const shown = target.length > longestTarget ? `${target.slice(0, longestTarget)}…` : target;
  return { action, target: shown, address: raw.socket.remoteAddress ?? '' };
}
