import { createTheme, type MantineColorsTuple, type MantineThemeOverride } from '@mantine/core';

/** The accent: a calm teal. Index 7 on white, white on index 6, and index 4 on the dark surfaces have a contrast of more than 4.5. */
const accent: MantineColorsTuple = [
  '#effbf9',
  '#d5f2ed',
  '#a9e4db',
  '#73d0c4',
  '#45b8aa',
  '#239d90',
  '#128076',
  '#0f6d65',
  '#0f5852',
  '#0c3f3b',
];

/** For dangerous acts. White is readable on the shades that fill buttons. */
const red: MantineColorsTuple = [
  '#fdf1f0',
  '#fadedb',
  '#f3bab5',
  '#ea928b',
  '#e06b62',
  '#c93a31',
  '#bf2f26',
  '#b3261e',
  '#8f1d17',
  '#6c1511',
];

/** Neutrals of the light theme, slightly cool. */
const gray: MantineColorsTuple = [
  '#f7f8fa',
  '#eff1f4',
  '#e3e7ec',
  '#d2d8e0',
  '#b3bcc8',
  '#8b96a5',
  '#667182',
  '#4d5766',
  '#343c48',
  '#1d232c',
];

/** Neutrals of the dark theme: 0 is text, 7 the page, 6 a surface. */
const dark: MantineColorsTuple = [
  '#d9dee6',
  '#b4bcc8',
  '#96a0ae',
  '#6b7685',
  '#38424f',
  '#2b343f',
  '#1a2129',
  '#11161c',
  '#0c1015',
  '#080b0f',
];

/** Fonts of the system: nothing is loaded, nothing jumps. */
const fontFamily =
  "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif";
export const monospace =
  "ui-monospace, 'SF Mono', SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace";

const dialogProps = {
  lockScroll: false,
  closeButtonProps: { 'aria-label': 'Close' },
  // The head of a dialog is a `<header>`, which would be a second banner of the page.
  attributes: { header: { role: 'presentation' } },
};

/**
 * The theme of Mantine's components. Overlays do not lock the scroll bar of the page, because the library that does so writes a
 * `<style>` element, which the policy of the page does not allow; `base.css` does it.
 */
export const theme: MantineThemeOverride = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 6 },
  colors: { accent, red, gray, dark },
  white: '#ffffff',
  black: '#171c23',
  fontFamily,
  fontFamilyMonospace: monospace,
  headings: { fontFamily, fontWeight: '600' },
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  defaultRadius: 'md',
  radius: { xs: '4px', sm: '6px', md: '8px', lg: '12px', xl: '16px' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  autoContrast: true,
  components: {
    Modal: {
      defaultProps: { ...dialogProps, centered: true, overlayProps: { backgroundOpacity: 0.45 } },
    },
    Drawer: { defaultProps: dialogProps },
    Tooltip: {
      defaultProps: { withArrow: true, openDelay: 300, events: { hover: true, focus: true, touch: true } },
    },
    // A landmark of the document, because all text has to be in one.
    Portal: { defaultProps: { target: '#overlays' } },
    // It is a `header`, and the page has one.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    DrawerHeader: { defaultProps: { role: 'presentation' } },
    // Its placeholder is no item, which a menu may not have.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss' } } },
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
  },
});
