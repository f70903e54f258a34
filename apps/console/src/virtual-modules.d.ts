/** The variables of the theme; see `build/mantine-variables.ts`. */
declare module 'virtual:mantine-variables.css';

/** The styles of Mantine's components; see `build/mantine-styles.ts`. */
declare module 'virtual:mantine-styles';
