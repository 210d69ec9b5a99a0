/** Bundles the views into a folder: readable, and minified as documents embed it. */

import { readFile } from "node:fs/promises";
import { build, transform } from "esbuild";

const outdir = process.argv[2] ?? "../blsnb/views/static";
const shared = {
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outdir,
};

/** Minifies style sheets, which the view has as text. */
const smallStyles = {
  name: "small styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true, target: "es2022" });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

await build({ ...shared, entryPoints: ["src/view.ts", "src/monitor.ts", "src/connection.ts", "src/placed.ts", "src/upload.ts"], loader: { ".css": "text" } });
await build({
  ...shared,
  entryPoints: ["src/view.ts"],
  minify: true,
  outExtension: { ".js": ".min.js" },
  plugins: [smallStyles],
});
