/** The extension as JupyterLab loads it: what its plugins do with the services of a host. */

import assert from "node:assert/strict";
import { test } from "node:test";

import "./page.ts";

await import("../src/panel/index.ts");

interface Plugin {
  id: string;
  autoStart: boolean;
  optional: string[];
  activate(app: unknown, ...services: unknown[]): void;
}

const SIGNAL = { connect: () => true, disconnect: () => true };
const { blsnb } = (window as unknown as { _JUPYTERLAB: Record<string, { init(scope: object): void; get(): Promise<() => { default: Plugin[] }> }> })._JUPYTERLAB;

class Widget {
  title: { icon?: unknown; label?: string } = {};
  node: HTMLElement;
  constructor({ node }: { node: HTMLElement }) {
    this.node = node;
  }
}
class LabIcon {
  name: string;
  constructor({ name }: { name: string }) {
    this.name = name;
  }
}
/** Modules of a host; the tokens are names of services. */
const MODULES: Record<string, object> = {
  "@lumino/widgets": { Widget },
  "@jupyterlab/apputils": { ICommandPalette: "palette" },
  "@jupyterlab/notebook": { INotebookTracker: "notebooks" },
  "@jupyterlab/console": { IConsoleTracker: "consoles" },
  "@jupyterlab/rendermime": { IRenderMimeRegistry: "rendermime" },
  "@jupyterlab/ui-components": { LabIcon },
  "@jupyterlab/launcher": { ILauncher: "launcher" },
  "@jupyterlab/completer": { ICompletionProviderManager: "completers" },
  "@jupyterlab/lsp": { ILSPCodeExtractorsManager: "extractors" },
  "@jupyterlab/codemirror": {
    IEditorLanguageRegistry: "languages",
    IEditorExtensionRegistry: "extensions",
    EditorExtensionRegistry: { createImmutableExtension: (extension: unknown) => extension },
  },
  "@codemirror/language": {
    StreamLanguage: { define: () => ({ extension: "configuration" }) },
    LanguageSupport: class {},
  },
  "@codemirror/state": {
    Compartment: class {
      of = (content: unknown) => content;
      reconfigure = (content: unknown) => content;
    },
    Prec: { highest: (extension: unknown) => extension },
    EditorState: { transactionExtender: { of: (extend: unknown) => extend } },
  },
  "@codemirror/view": { hoverTooltip: (find: unknown) => find },
};

/** A host that shares modules and has services, which note how they are used. */
class Lab {
  used: string[] = [];
  panel!: Widget;
  commands = new Map<string, { isEnabled?(): boolean }>();
  language!: { support: object };
  cells!: { factory(options: object): unknown };
  #note = (name: string) => () => this.used.push(name);
  services: Record<string, unknown> = {
    notebooks: { currentWidget: null, currentChanged: { connect: this.#note("notebooks") } },
    consoles: { currentWidget: null, currentChanged: { connect: this.#note("consoles") } },
    palette: { addItem: ({ command }: { command: string }) => command.endsWith("show-panel") && this.used.push("palette") },
    launcher: { add: this.#note("launcher") },
    rendermime: {},
    completers: { registerProvider: this.#note("completers") },
    extractors: { register: this.#note("extractors") },
    languages: { addLanguage: (language: never) => (this.language = language) },
    extensions: { addExtension: (cells: never) => (this.cells = cells) },
  };
  app = {
    shell: { add: (panel: Widget) => (this.panel = panel), activateById: () => undefined, currentWidget: null, currentChanged: SIGNAL },
    commands: { addCommand: (id: string, options: never) => this.commands.set(id, options) },
  };

  /** Load the extension and activate its plugins; the host lacks some modules. */
  async start(...lacking: string[]): Promise<this> {
    const names = Object.keys(MODULES).filter((name) => !lacking.includes(name));
    blsnb.init(Object.fromEntries(names.map((name) => [name, this.#versions(name)])));
    for (const plugin of (await blsnb.get())().default) {
      assert.ok(plugin.autoStart, plugin.id);
      plugin.activate(this.app, ...plugin.optional.map((token) => this.services[token]));
    }
    return this;
  }

  /** A module may have several versions, of which one is loaded, or one that is not loaded yet. */
  #versions(name: string): object {
    const module = { get: async () => () => MODULES[name] };
    return name.includes("lumino") ? { 1: { get: async () => () => ({}) }, 2: { ...module, loaded: 1 } } : { 1: module };
  }
}

test("each service of the host is used for what it is", async () => {
  const lab = await new Lab().start();

  assert.deepEqual(lab.used, ["notebooks", "consoles", "palette", "launcher", "completers", "extractors"]);
  assert.equal((lab.panel.title.icon as LabIcon).name, "blsnb:icon");
  assert.ok(lab.language.support);
});

test("a host that lacks consoles, icons, completion or language servers has the others", async () => {
  const lab = await new Lab().start("@jupyterlab/console", "@jupyterlab/ui-components", "@jupyterlab/completer", "@jupyterlab/lsp");

  assert.deepEqual(lab.used, ["notebooks", "palette", "launcher"]);
  assert.deepEqual(lab.panel.title, { caption: "Triton", label: "Triton" });
});

test("without a notebook or console only the panel and a new notebook are offered", async () => {
  const lab = await new Lab().start();
  const enabled = [...lab.commands].filter(([, { isEnabled }]) => isEnabled?.() ?? true).map(([id]) => id);

  assert.deepEqual(enabled, ["blsnb:show-panel", "blsnb:new-notebook"]);
});

/** The text of an editor. */
function text(content: string): object {
  return { sliceString: (from: number, to?: number) => content.slice(from, to), toString: () => content };
}

test("a cell has the language of configurations while its magic says so", async () => {
  const { cells } = await new Lab().start();
  const of = (source?: string) => cells.factory({ inline: true, model: source === undefined ? undefined : { sharedModel: { getSource: () => source } } }) as [unknown[], (change: object) => unknown];
  const [language, follow] = of("%%triton_config m\nbackend: 'python'");
  const typed = (before: string, after: string, docChanged = true): unknown =>
    (follow({ docChanged, startState: { doc: text(before) }, newDoc: text(after) }) as { effects: unknown } | null)?.effects;

  assert.equal(language[0], "configuration");
  assert.deepEqual([of("import blsnb")[0], of()[0]], [[], []]);
  assert.deepEqual(cells.factory({ inline: false }), [], "a file has a language of its own");
  assert.deepEqual(typed("", "%%triton_config m"), language);
  assert.deepEqual(typed("%%triton_config m", "x"), []);
  assert.equal(typed("%%triton_config m", "%%triton_config more"), undefined);
  assert.equal(typed("", "%%triton_config m", false), undefined);
});

test("the meaning of a word is shown above it", async () => {
  const { cells } = await new Lab().start();
  const [[, hover]] = cells.factory({ inline: true, model: { sharedModel: { getSource: () => "%%triton_config m" } } }) as [[string, (view: object, at: number) => unknown]];
  const source = "instance_group { kind: KIND_CPU }";
  const tip = hover({ state: { doc: text(source) } }, 25) as { pos: number; end: number; above: boolean; create(): { dom: HTMLElement } };

  assert.deepEqual([source.slice(tip.pos, tip.end), tip.above, tip.create().dom.textContent], ["KIND_CPU", true, "The CPU."]);
  assert.equal(hover({ state: { doc: text(source) } }, 15), null);
});
