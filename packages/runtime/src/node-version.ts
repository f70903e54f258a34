/**
 * Ends the process with exit code 2 and one plain line when Node is older than `minimumMajor`; does nothing otherwise.
 *
 * It must run before anything that an old Node cannot load, so an entry point calls it first and loads the rest with
 * `import()`. An old Node cannot load this file as TypeScript: runs from source preload `require-node.mjs` instead.
 */
export function requireNode(minimumMajor: number, version: string = process.versions.node): void {
  const complaint = nodeVersionComplaint(minimumMajor, version);
  if (complaint === undefined) return;
  console.error(complaint);
  process.exit(2);
}

/** The line that `requireNode` prints, or undefined when `version` is new enough. */
export function nodeVersionComplaint(minimumMajor: number, version: string): string | undefined {
  const major = Number.parseInt(version, 10);
  if (major >= minimumMajor) return undefined;
  return `Sluice needs Node.js ${minimumMajor} or newer and this is ${version}: run it with "npm start", which uses the Node.js that "npm ci" installed, or install Node.js ${minimumMajor}.`;
}
