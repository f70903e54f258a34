// Preloaded (`node --import`) where Sluice runs from TypeScript source, which an old Node cannot load at all. Plain
// JavaScript of the oldest kind, without imports, so that an old Node gets as far as the message. Built code calls
// `requireNode` of src/node-version.ts instead; the two messages are compared by a test.
var minimumMajor = 24;
if (Number.parseInt(process.versions.node, 10) < minimumMajor) {
  console.error(
    'Sluice needs Node.js ' +
      minimumMajor +
      ' or newer and this is ' +
      process.versions.node +
      ': run it with "npm start", which uses the Node.js that "npm ci" installed, or install Node.js ' +
      minimumMajor +
      '.',
  );
  process.exit(2);
}
