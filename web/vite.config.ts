import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// One script and one style sheet: the page is small, and a second round trip costs more than it saves on loopback.
// Nothing may be inlined, because the page's CSP allows neither inline scripts nor inline styles.
export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    sourcemap: false,
    reportCompressedSize: true,
  },
  server: {
    host: '127.0.0.1',
    port: 5173,
    proxy: { '/v1': { target: process.env['OSTLER_BRIDGE'] ?? 'http://127.0.0.1:7878' } },
  },
  test: { include: ['src/**/*.test.ts'] },
});
