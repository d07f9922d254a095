/** In place of the built page, which the browser's tests open. */
export const files = {
  "index.html": {
    type: "text/html; charset=utf-8",
    body: '<meta name="palimpsest-agent" content="palimpsest-agent" /><meta name="palimpsest-name" content="demo" />',
  },
  "assets/index-1.js": { type: "text/javascript; charset=utf-8", body: "void 0;" },
};
