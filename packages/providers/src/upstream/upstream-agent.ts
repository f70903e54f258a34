import { isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';

/** How much later than our own connect timer undici's fires; it ends the socket of a call that is already over. */
const connectMarginMs = 1000;

/**
 * The connections of one upstream: HTTP/1.1 alone, one request at a time over each, certificates always verified.
 *
 * With an `address`, every connection goes there, whatever the name in the URL resolves to. The name is still the one that is
 * asked for, and that a certificate has to be for.
 */
export function upstreamAgent({ connectMs }: { connectMs: number }, address?: string): Agent {
  return new Agent({
    allowH2: false,
    pipelining: 1,
    // Our own timers apply. The ones of undici would end a slow answer after 300 s.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than the keep-alive of common servers, so that a request rarely meets a closing socket.
    keepAliveTimeout: 4000,
    keepAliveMaxTimeout: 30_000,
    connect: {
      timeout: connectMs + connectMarginMs,
      rejectUnauthorized: true,
      ...(address !== undefined && { lookup: always(address) }),
    },
  });
}

function always(address: string): LookupFunction {
  const family = isIP(address);
  return (_host, { all }, callback) => {
    if (all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}
