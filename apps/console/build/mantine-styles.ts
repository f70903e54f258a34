import type { Plugin } from 'vite';

const name = 'virtual:mantine-styles';
const resolved = `\0${name}`;

/**
 * The style sheets of the components of Mantine that the console uses, each in the chunk that uses it: all of them would be
 * most of the first page. They are in the cascade layer `mantine`, so that the order of chunks decides nothing and every
 * style of ours comes after them.
 */
export function mantineStyles(): Plugin {
  let isBuild = false;
  return {
    name: 'mantine-styles',
    configResolved: ({ command }) => {
      isBuild = command === 'build';
    },
    resolveId: (id) => (id === name ? resolved : undefined),
    // The server of `npm run dev` bundles dependencies by itself, without plugins.
    load: (id) => (id === resolved ? importing(isBuild ? base : everything) : undefined),
    transform: (code, id) => {
      if (!isBuild) return undefined;
      const [, library, component] = classNames.exec(id) ?? [];
      if (library === undefined || component === undefined) return undefined;
      const sheet =
        library === 'core'
          ? `@mantine/core/styles/${component}.layer.css`
          : `@mantine/${library}/styles.layer.css`;
      return { code: `${importing([sheet])}\n${code}`, map: null };
    },
  };
}

const base = ['@mantine/core/styles/baseline.layer.css', '@mantine/core/styles/global.layer.css'];
const everything = ['@mantine/core/styles.layer.css', '@mantine/notifications/styles.layer.css'];

/** The module with the class names of a component. Every component that has styles imports its own. */
const classNames = /@mantine\/(core|notifications)\/esm\/(?:.*\/)?(\w+)\.module\.mjs$/;

function importing(sheets: readonly string[]): string {
  return sheets.map((sheet) => `import ${JSON.stringify(sheet)};`).join('\n');
}
