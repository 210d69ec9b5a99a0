/**
 * Bundles the views into a folder: readable, and minified as documents embed it. Builds the panel into
 * another one, as an extension that JupyterLab loads as it is.
 */

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, transform } from "esbuild";
import { minify } from "terser";

// Paths are those of this folder, from wherever it is called.
process.chdir(import.meta.dirname);
const outdir = process.argv[2] ?? "../blsnb/views/static";
const extension = process.argv[3] ?? "../blsnb/panel/labextension";
const shared = {
  absWorkingDir: import.meta.dirname,
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

await build({ ...shared, entryPoints: ["src/view.ts", "src/monitor.ts", "src/connection.ts", "src/placed.ts", "src/upload.ts", "src/attended.ts"], loader: { ".css": "text" } });
const view = await build({ ...shared, entryPoints: ["src/view.ts"], minify: true, write: false, plugins: [smallStyles] });
// Terser leaves a twentieth less than esbuild alone; the first document of each cell carries this code.
const smaller = await minify(view.outputFiles[0].text, { module: true, ecma: 2020, compress: { passes: 2 } });
await writeFile(join(outdir, "view.min.js"), `${smaller.code}\n`);

const panel = await build({
  ...shared,
  entryPoints: ["src/panel/index.ts"],
  format: "iife",
  minify: true,
  write: false,
  plugins: [smallStyles],
});
const code = panel.outputFiles[0].contents;
// A page that has cached an older one loads the new one under another name.
const name = `remoteEntry.${createHash("sha256").update(code).digest("hex").slice(0, 12)}.js`;
const manifest = {
  name: "blsnb",
  version: "0.1.0",
  description: "Models, runs and logs of Triton beside the notebook",
  license: "Apache-2.0",
  jupyterlab: { extension: true, _build: { load: `static/${name}`, extension: "./extension" } },
};
await rm(extension, { recursive: true, force: true });
await mkdir(join(extension, "static"), { recursive: true });
await writeFile(join(extension, "static", name), code);
await writeFile(join(extension, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
