/** The entry of the extension: a container of modules, as JupyterLab loads prebuilt extensions. */

import { activate, type Host } from "./activate.ts";
import type { Launcher, Palette } from "./commands.ts";
import { addCompletion, addLanguage, type CodeMirror, type Completers, type Extensions, type Languages } from "./editor/editor.ts";
import type { Document } from "./link/front.ts";
import type { Application, Classes, RenderMime, Tracker } from "./link/lab.ts";
import { addExtractor, type Extractors } from "./editor/lsp.ts";

const NAME = "blsnb";
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16"><g class="jp-icon3" fill="#616161"><path d="M6 1h4v4H6zM1 11h4v4H1zM11 11h4v4h-4z"/><path d="M7.5 5h1v3h5v3h-1V9h-9v2h-1V8h5z"/></g></svg>`;

interface Entry {
  get(): Promise<() => Record<string, unknown>>;
  loaded?: unknown;
}
type Scope = Record<string, Record<string, Entry> | undefined>;

let scope: Scope = {};

/** Return a module that the host shares; an empty one if it has none. */
async function shared(name: string): Promise<Record<string, unknown>> {
  const versions = Object.values(scope[name] ?? {});
  const found = versions.find((each) => each.loaded) ?? versions[0];
  return found ? (await found.get())() : {};
}

interface Plugin {
  id: string;
  description: string;
  autoStart: true;
  optional: unknown[];
  activate(app: Application, ...found: unknown[]): void;
}

/** Return a plugin; a token that the host lacks gives null. */
function plugin(
  name: string,
  description: string,
  tokens: unknown[],
  activate: (app: Application, given: unknown[]) => void,
): Plugin {
  return {
    id: `${NAME}:${name}`,
    description,
    autoStart: true,
    optional: tokens.filter(Boolean),
    activate: (app, ...found) => activate(app, tokens.map((token) => (token ? (found.shift() ?? null) : null))),
  };
}

async function plugins(): Promise<Plugin[]> {
  return [await panelPlugin(), await languagePlugin(), await completionPlugin(), await extractorPlugin()];
}

async function panelPlugin(): Promise<Plugin> {
  const names = ["@lumino/widgets", "@jupyterlab/apputils", "@jupyterlab/notebook", "@jupyterlab/console", "@jupyterlab/rendermime", "@jupyterlab/ui-components", "@jupyterlab/launcher"];
  const [widgets, apputils, notebook, console, rendermime, components, launchers] = await Promise.all(names.map(shared));
  const classes = { Widget: widgets.Widget, MainAreaWidget: apputils.MainAreaWidget } as Classes;
  const LabIcon = components.LabIcon as (new (given: { name: string; svgstr: string }) => unknown) | undefined;
  const tokens = [notebook.INotebookTracker, console.IConsoleTracker, rendermime.IRenderMimeRegistry, apputils.ICommandPalette, launchers.ILauncher];
  return plugin("panel", "Models, runs and logs of the kernel in front", tokens, (app, given) => {
    const [notebooks, consoles] = given as (Tracker<Document> | null)[];
    const [rendermime, palette, launcher] = given.slice(2) as [RenderMime | null, Palette | null, Launcher | null];
    const icon = { icon: LabIcon && new LabIcon({ name: `${NAME}:icon`, svgstr: ICON }), picture: ICON };
    const host: Host = { classes, trackers: [notebooks, consoles], rendermime, palette, launcher, icon };
    activate(app, host);
  });
}

async function languagePlugin(): Promise<Plugin> {
  const names = ["@jupyterlab/codemirror", "@codemirror/language", "@codemirror/state", "@codemirror/view"];
  const modules = await Promise.all(names.map(shared));
  const code = Object.assign({}, ...modules) as CodeMirror;
  const tokens = [modules[0].IEditorLanguageRegistry, modules[0].IEditorExtensionRegistry];
  return plugin("language", "Highlights config.pbtxt files and %%triton_config cells", tokens, (_, given) =>
    addLanguage(code, given[0] as Languages | null, given[1] as Extensions | null),
  );
}

async function completionPlugin(): Promise<Plugin> {
  const { ICompletionProviderManager } = await shared("@jupyterlab/completer");
  return plugin("completion", "Completes config.pbtxt files", [ICompletionProviderManager], (_, [manager]) => {
    if (manager) addCompletion(manager as Completers);
  });
}

async function extractorPlugin(): Promise<Plugin> {
  const { ILSPCodeExtractorsManager } = await shared("@jupyterlab/lsp");
  return plugin("models", "Opens cells of models for language servers", [ILSPCodeExtractorsManager], (_, [manager]) => {
    if (manager) addExtractor(manager as Extractors);
  });
}

const page = window as unknown as { _JUPYTERLAB?: Record<string, unknown> };
page._JUPYTERLAB ??= {};
page._JUPYTERLAB[NAME] = {
  init: (given: Scope) => {
    scope = given;
  },
  get: async () => {
    const made = await plugins();
    return () => ({ __esModule: true, default: made });
  },
};
