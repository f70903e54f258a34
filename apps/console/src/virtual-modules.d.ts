/** The variables of the theme; see `build/mantine-variables.ts`. */
declare module 'virtual:mantine-variables.css';
