// Light or dark: what the system says, unless somebody chose.

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'ostler-theme';
const dark = window.matchMedia('(prefers-color-scheme: dark)');

function stored(): Theme {
  const found = localStorage.getItem(KEY);
  return found === 'light' || found === 'dark' ? found : 'system';
}

export const theme = $state({ chosen: stored(), isDark: false });

export function applyTheme(): void {
  theme.isDark = theme.chosen === 'dark' || (theme.chosen === 'system' && dark.matches);
  document.documentElement.dataset['theme'] = theme.isDark ? 'dark' : 'light';
}

export function chooseTheme(chosen: Theme): void {
  theme.chosen = chosen;
  if (chosen === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  applyTheme();
}

dark.addEventListener('change', applyTheme);
