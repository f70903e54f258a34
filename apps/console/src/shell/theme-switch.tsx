import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react';

const themes = [
  { scheme: 'light', word: 'Light', icon: IconSun },
  { scheme: 'dark', word: 'Dark', icon: IconMoon },
  { scheme: 'auto', word: 'As the system', icon: IconDeviceDesktop },
] as const;

/** Chooses the theme, and keeps the choice on this machine. */
export function ThemeSwitch() {
  // Without `keepTransitions` it would write a `<style>` element for a moment.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const { icon: Current } = themes.find(({ scheme }) => scheme === colorScheme) ?? themes[2];
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon size="lg" aria-label="Theme">
          <Current size={18} stroke={1.7} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup
          value={colorScheme}
          onChange={(value) => setColorScheme(value as MantineColorScheme)}
        >
          {themes.map(({ scheme, word, icon: Icon }) => (
            <Menu.RadioItem key={scheme} value={scheme} closeMenuOnClick rightSection={<Icon size={16} />}>
              {word}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
}
