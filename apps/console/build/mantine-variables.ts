import {
  convertCssVariables,
  DEFAULT_THEME,
  defaultCssVariablesResolver,
  mergeMantineTheme,
} from '@mantine/core';
import type { Plugin } from 'vite';
import { theme } from '../src/theme/theme.ts';

const name = 'virtual:mantine-variables.css';
const resolved = `\0${name}`;

/**
 * The CSS variables of the theme as a style sheet. Mantine would put them into a `<style>` element at run time, which the policy of
 * the page does not allow.
 */
export function mantineVariables(): Plugin {
  return {
    name: 'mantine-variables',
    resolveId: (id) => (id === name ? resolved : undefined),
    load: (id) => {
      if (id !== resolved) return undefined;
      const variables = defaultCssVariablesResolver(mergeMantineTheme(DEFAULT_THEME, theme));
      return `${convertCssVariables(variables, ':root')}
        :root[data-mantine-color-scheme='light'] { --mantine-color-scheme: light; }
        :root[data-mantine-color-scheme='dark'] { --mantine-color-scheme: dark; }`;
    },
  };
}
