/** Whether only this machine can reach a listener on an address. Names other than localhost count as reachable. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/** Whether listeners on two addresses would conflict on the same port. */
export function overlaps(one: string, other: string): boolean {
  return isWildcard(one) || isWildcard(other) || plain(one) === plain(other);
}

function isWildcard(host: string): boolean {
  return /^(0\.0\.0\.0|\[?::\]?)$/.test(host);
}

function plain(host: string): string {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return name === 'localhost' ? '127.0.0.1' : name;
}
