/** The entry of the extension: a container of modules, as JupyterLab loads prebuilt extensions. */

import { Doing } from "./doing.ts";
import { addCompletion, addLanguage, type CodeMirror, type Completers, type Extensions, type Languages } from "./editor.ts";
import { Front, type Document } from "./front.ts";
import type { Application, Classes, RenderMime, Tracker, Widget } from "./lab.ts";
import { Link } from "./link.ts";
import { addExtractor, type Extractors } from "./lsp.ts";
import { Sidebar } from "./sidebar.ts";

const NAME = "blsnb";
/** Time until a request counts as waiting, in milliseconds. */
const PATIENCE_MS = 300;
/** Event of a form that inserts a cell, see `placed.ts`. */
const INSERT = "blsnb-insert-cell";
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
  const names = ["@lumino/widgets", "@jupyterlab/apputils", "@jupyterlab/notebook", "@jupyterlab/console", "@jupyterlab/rendermime", "@jupyterlab/ui-components"];
  const [widgets, apputils, notebook, console, rendermime, components] = await Promise.all(names.map(shared));
  const classes = { Widget: widgets.Widget, MainAreaWidget: apputils.MainAreaWidget } as Classes;
  const LabIcon = components.LabIcon as (new (given: { name: string; svgstr: string }) => unknown) | undefined;
  const tokens = [notebook.INotebookTracker, console.IConsoleTracker, rendermime.IRenderMimeRegistry];
  return plugin("panel", "Models, runs and logs of the kernel in front", tokens, (app, given) => {
    const [notebooks, consoles] = given as [Tracker<Document> | null, Tracker<Document> | null];
    const icon = LabIcon && new LabIcon({ name: `${NAME}:icon`, svgstr: ICON });
    activate(app, classes, [notebooks, consoles], given[2] as RenderMime | null, icon);
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

function activate(
  app: Application,
  classes: Classes,
  trackers: (Tracker<Document> | null)[],
  rendermime: RenderMime | null,
  icon: unknown,
): void {
  const doing = new Doing(app, classes, rendermime);
  const link = new Link((list) => sidebar.update(list));
  const act = async (action: string, about: Record<string, string>): Promise<void> => {
    const waits = setTimeout(() => sidebar.say("Waiting for the kernel."), PATIENCE_MS);
    try {
      const reply = await link.act(action, about);
      clearTimeout(waits);
      sidebar.say(await doing.follow(reply, front.document));
    } catch (error) {
      sidebar.say((error as Error).message);
    } finally {
      clearTimeout(waits);
    }
  };
  const load = (): void => void doing.insert(["%load_ext blsnb"], front.document);
  const sidebar = new Sidebar(link, (action, about) => void act(action, about), load);
  const front = new Front(trackers, (kernel) => link.attach(kernel));
  globalThis.addEventListener(INSERT, (event) => {
    const { document } = front;
    if (!document) return;
    event.preventDefault();
    void doing.insert([(event as CustomEvent<{ code: string }>).detail.code], document);
  });
  sidebar.update("");
  app.shell.add(panelOf(classes, sidebar, icon), "left", { rank: 900 });
}

/** Return the widget of the side bar; it reports whether it is seen. */
function panelOf({ Widget }: Classes, sidebar: Sidebar, icon: unknown): Widget {
  class Panel extends (Widget as new (options: object) => Widget) {
    onAfterShow(): void {
      sidebar.setVisible(true);
    }
    onAfterAttach(): void {
      sidebar.setVisible(this.isVisible);
    }
    onAfterHide(): void {
      sidebar.setVisible(false);
    }
  }
  const panel = new Panel({ node: sidebar.node });
  panel.id = "blsnb-panel";
  panel.title.caption = "Triton";
  if (icon) panel.title.icon = icon;
  else panel.title.label = "Triton";
  return panel;
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
