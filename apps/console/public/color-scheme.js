// Sets the theme before the page is painted. A classic script of its own, because the policy of the page allows no inline one.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem('sluice-color-scheme');
  } catch {
    // Without storage the theme of the system is used.
  }
  var isDark =
    chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light');
})();
