import type { Plugin } from 'vite';

/**
 * Takes each icon from its own file. The index of the icons has thousands, and reading them all is most of the time that a build
 * takes.
 */
export function singleIcons(): Plugin {
  return {
    name: 'single-icons',
    apply: 'build',
    enforce: 'pre',
    transform: (code, id) => {
      if (!/\.tsx?$/.test(id) || !code.includes(library)) return undefined;
      return {
        code: code.replaceAll(wholeImport, (_statement, names: string) => importsOf(names)),
        map: null,
      };
    },
  };
}

const library = '@tabler/icons-react';
const wholeImport = /^import \{([^}]*)\} from '@tabler\/icons-react';$/gm;

function importsOf(names: string): string {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) =>
      name.startsWith('type ')
        ? `import { ${name} } from '${library}';`
        : `import ${name} from '${library}/dist/esm/icons/${name}.mjs';`,
    )
    .join(' ');
}
