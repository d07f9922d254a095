/** Builds the page into dist/dashboard. The Worker serves it from there as static files. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // The page is not always at the root of its Worker.
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    // Nothing is inlined, because the page runs under `script-src 'self'; style-src 'self'`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
});
