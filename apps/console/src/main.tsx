import './theme/layers.css';
import 'virtual:mantine-styles';
import 'virtual:mantine-variables.css';
import './theme/tokens.css';
import './theme/base.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient } from './api/query-client.ts';
import { Notices } from './components/notices.tsx';
import { createConsoleRouter } from './router.tsx';
import { colorSchemeManager } from './theme/color-scheme.ts';
import { theme } from './theme/theme.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no element #root.');

const client = createQueryClient();

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemeManager}
      // Both would be `<style>` elements, which the policy of the page does not allow.
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <Notices />
      <QueryClientProvider client={client}>
        <RouterProvider router={createConsoleRouter(client)} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
