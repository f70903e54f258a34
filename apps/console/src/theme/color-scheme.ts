import { localStorageColorSchemeManager } from '@mantine/core';

/** Where the chosen theme is kept. `public/color-scheme.js` reads it before the page is painted. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'sluice-color-scheme' });
