/** The panel in its host: its commands, and what it says while the kernel is busy. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import "./page.ts";
import type { Front } from "../src/panel/link/front.ts";
import type { Application, Classes, Comm, CommMessage, KernelConnection } from "../src/panel/link/lab.ts";
import type { Row } from "../src/panel/link/link.ts";

mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
const { activate } = await import("../src/panel/activate.ts");
const { notebook } = await import("../src/panel/commands.ts");

const SIGNAL = { connect: () => true, disconnect: () => true };

/** Let what waits for promises continue. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

class Page {
  commands = new Map<string, { execute(given?: object): unknown; isEnabled(): boolean }>();
  palette: string[] = [];
  launcher: { category: string; kernelIconUrl: string }[] = [];
  sent: Row[] = [];
  node!: HTMLElement;
  panel!: { onAfterShow(): void; onAfterHide(): void };
  inserted: string[] = [];
  executed: string[] = [];
  comm!: Comm;
  kernel!: { isDisposed: boolean };
  closed!: (kernel: unknown) => void;
  front: unknown = null;
  console: unknown = null;
  changed: () => void = () => undefined;
  /** A notebook without a kernel, whose tracker reports nothing more. */
  notebook = {
    id: "notebook",
    sessionContext: { session: null, kernelChanged: SIGNAL },
    context: {},
    content: {
      activeCellIndex: 0,
      widgets: [],
      model: { sharedModel: { insertCells: (_: number, cells: { source: string }[]) => this.inserted.push(...cells.map(({ source }) => source)) } },
      scrollToItem: async () => undefined,
    },
  };
  /** A notebook whose kernel has not loaded blsnb. */
  other = {
    sessionContext: {
      session: {
        kernel: {
          info: Promise.resolve({}),
          statusChanged: SIGNAL,
          disposed: SIGNAL,
          iopubMessage: SIGNAL,
          requestCommInfo: async () => ({ content: { comms: {} } }),
        },
      },
      kernelChanged: SIGNAL,
    },
  };
  written: { path: string; content: { metadata: object } }[] = [];
  specs: object | null = null;

  /** Put the panel into a page with a notebook whose kernel has loaded blsnb. */
  async open(): Promise<void> {
    const opened = (): Comm => ({
      isDisposed: false,
      onMsg: (_: CommMessage) => undefined,
      onClose: (_: CommMessage) => undefined,
      open: (data: Row) => this.sent.push(data),
      send: (data: Row) => this.sent.push(data),
      close: () => undefined,
    });
    const kernel = {
      isDisposed: false,
      info: Promise.resolve({}),
      statusChanged: SIGNAL,
      disposed: { connect: (slot: (kernel: unknown) => void) => (this.closed = slot) },
      iopubMessage: SIGNAL,
      requestCommInfo: async () => ({ content: { comms: { a: {} } } }),
      createComm: () => (this.comm = opened()),
    } as unknown as KernelConnection & { isDisposed: boolean };
    this.kernel = kernel;
    const sessionContext = { session: { kernel }, kernelChanged: SIGNAL };
    const document = { sessionContext, console: { promptCell: null, inject: () => Promise.reject("Canceled") }, id: "console" } as unknown as Front["document"];
    this.console = document;
    const page = this;
    const trackers = [
      { currentWidget: document, currentChanged: SIGNAL, has: (each: unknown) => each === document },
      { currentWidget: null, currentChanged: SIGNAL, has: (each: unknown) => [this.notebook, this.other].includes(each as never) },
    ];
    class Widget {
      title = {};
      node: HTMLElement;
      constructor({ node }: { node: HTMLElement }) {
        this.node = node;
      }
    }
    const app = {
      shell: {
        add: (panel: Widget & Page["panel"]) => ([this.node, this.panel] = [panel.node, panel]),
        activateById: () => undefined,
        get currentWidget() {
          return page.front;
        },
        currentChanged: { connect: (slot: () => void) => (this.changed = slot) },
      },
      commands: {
        addCommand: (id: string, options: never) => this.commands.set(id, options),
        execute: async (id: string) => this.executed.push(id),
      },
      serviceManager: {
        contents: {
          newUntitled: async ({ path }: { path: string }) => ({ path: `${path}/Untitled.ipynb` }),
          save: async (path: string, { content }: { content: { metadata: object } }) => this.written.push({ path, content }),
        },
        kernelspecs: { specs: this.specs },
      },
    } as unknown as Application;
    activate(app, {
      classes: { Widget } as unknown as Classes,
      trackers: trackers as never,
      rendermime: null,
      palette: { addItem: ({ command }) => this.palette.push(command) },
      launcher: { add: (item) => this.launcher.push(item) },
      icon: { icon: undefined, picture: '<svg fill="#616161"/>' },
    });
    await settled();
    this.say({ v: 1, type: "welcome", actions: ["save"] });
  }

  say(data: Row): void {
    this.comm.onMsg({ content: { data } });
  }

  /** Bring a document to the front. */
  async bring(document: unknown): Promise<void> {
    this.front = document;
    this.changed();
    await settled();
  }

  get status(): string {
    return this.node.querySelector(".status")!.textContent!;
  }
}

test("an action that is not answered says that it waits for the kernel", async () => {
  const page = new Page();
  await page.open();
  page.commands.get("blsnb:save-run")!.execute();
  const { id, run } = page.sent.at(-1)!;
  assert.equal(run, "");
  assert.equal(page.status, "");
  mock.timers.tick(299);
  assert.equal(page.status, "");
  mock.timers.tick(1);
  assert.equal(page.status, "Waiting for the kernel.");
  page.say({ v: 1, type: "answer", id, done: "Run 1 is saved." });
  await settled();
  assert.equal(page.status, "Run 1 is saved.");
});

test("an action's answer is shown for its notebook only, and its waiting too", async () => {
  const page = new Page();
  await page.open();
  page.commands.get("blsnb:save-run")!.execute();
  const { id } = page.sent.at(-1)!;
  const comm = page.comm;
  await page.bring(page.notebook);
  mock.timers.tick(300);
  assert.equal(page.status, "");
  await page.bring(page.console);
  page.say({ v: 1, type: "welcome", actions: ["save"] });
  assert.equal(page.status, "Waiting for the kernel.");
  await page.bring(page.notebook);
  comm.onMsg({ content: { data: { v: 1, type: "answer", id, done: "Run 1 is saved." } } });
  await settled();
  assert.equal(page.status, "");
  await page.bring(page.console);
  page.say({ v: 1, type: "welcome", actions: ["save"] });
  await settled();
  assert.equal(page.status, "Run 1 is saved.");
});

test("an action that runs is said in each tab, and below the answer of another one", async () => {
  const page = new Page();
  await page.open();
  page.commands.get("blsnb:debug-run")!.execute();
  const { id } = page.sent.at(-1)!;
  mock.timers.tick(300);
  const waits = page.status;
  assert.match(waits, /stopped in the debugger/);
  page.node.querySelector<HTMLElement>("#blsnb-tab-of-notes")!.click();
  assert.equal(page.status, waits);
  page.commands.get("blsnb:save-run")!.execute();
  page.say({ v: 1, type: "answer", id: page.sent.at(-1)!.id, done: "Run 1 is saved." });
  await settled();
  assert.equal(page.status, `Run 1 is saved.\n${waits}`);
  page.say({ v: 1, type: "answer", id, done: "Run 1 was debugged." });
  await settled();
  assert.equal(page.status, "Run 1 was debugged.");
});

test("an action whose notebook is closed is said to have no answer, beside another notebook too", async () => {
  const page = new Page();
  await page.open();
  page.commands.get("blsnb:save-run")!.execute();
  page.kernel.isDisposed = true;
  page.closed(page.kernel);
  await page.bring(page.other);
  assert.match(page.node.querySelector(".absent")!.textContent!, /has not loaded blsnb/);
  assert.equal(page.status, "A notebook was closed or left its kernel before an answer was shown.");
});

test("what JupyterLab rejects with a text is shown", async () => {
  const page = new Page();
  await page.open();
  page.commands.get("blsnb:save-run")!.execute();
  page.say({ v: 1, type: "answer", id: page.sent.at(-1)!.id, cells: ["1"], run: true });
  await settled();
  assert.equal(page.status, "Canceled");
});

test("a notebook that comes back from behind a console is followed", async () => {
  const page = new Page();
  await page.open();
  assert.equal(page.node.querySelector<HTMLElement>(".absent")!.hidden, true);
  page.front = page.notebook;
  page.changed();
  assert.match(page.node.querySelector(".absent")!.textContent!, /Open a notebook or a console with a kernel to see its models./);
});

test("the palette has every command, and the launcher the notebook", async () => {
  const page = new Page();
  await page.open();
  assert.deepEqual(page.palette.sort(), [...page.commands.keys()].sort());
  assert.deepEqual(page.launcher.map(({ category }) => category), ["Notebook"]);
  assert.equal(page.commands.get("blsnb:load-ext")!.isEnabled(), true);
  assert.equal(page.commands.get("blsnb:insert-model")!.isEnabled(), false);
});

test("commands and forms insert cells into the notebook in front; only the list of models runs", async () => {
  const page = new Page();
  await page.open();
  page.front = page.notebook;
  page.changed();
  for (const name of ["load-ext", "insert-model", "list-models"]) {
    assert.equal(page.commands.get(`blsnb:${name}`)!.isEnabled(), true);
    assert.deepEqual(page.executed, []);
    page.commands.get(`blsnb:${name}`)!.execute();
    await settled();
  }
  const form = new CustomEvent("blsnb-insert-cell", { detail: { code: "blsnb.infer()" }, cancelable: true });
  globalThis.dispatchEvent(form);
  await settled();

  assert.equal(form.defaultPrevented, true, "the form does not copy the code");
  assert.deepEqual(page.executed, ["notebook:run-cell"]);
  assert.deepEqual(page.inserted.map((cell) => cell.split(" ").slice(0, 2).join(" ")), ["%load_ext blsnb", "%%triton_model double", "%triton models", "blsnb.infer()"]);
});

test("a panel that is hidden watches no list", async () => {
  const page = new Page();
  await page.open();
  const watched = (): unknown => page.sent.findLast(({ type }) => type === "watch")?.what;
  page.panel.onAfterShow();
  assert.deepEqual(watched(), ["models"]);
  page.panel.onAfterHide();
  assert.deepEqual(watched(), []);
});

test("a new notebook has the server's own kernel, or the first of Python", async () => {
  const spec = (name: string, language = "python"): object => ({ name, display_name: name.toUpperCase(), language });
  const kernelspecs = { r: spec("r", "R"), one: spec("one"), two: spec("two") };
  const kernels: object[] = [];
  for (const specs of [{ default: "two", kernelspecs }, { default: "r", kernelspecs }, { default: "r", kernelspecs: { r: kernelspecs.r } }, null]) {
    const page = new Page();
    page.specs = specs;
    await page.open();
    await page.commands.get("blsnb:new-notebook")!.execute({ cwd: "work" });
    assert.deepEqual(page.executed, ["docmanager:open"]);
    assert.equal(page.written[0].path, "work/Untitled.ipynb");
    kernels.push(page.written[0].content.metadata);
  }

  const of = (name: string): object => ({ kernelspec: { name, display_name: name.toUpperCase() } });
  assert.deepEqual(kernels, [of("two"), of("one"), {}, {}]);
});

test("the first notebook is valid with and without a Python kernel", () => {
  const kernel = { name: "python3", display_name: "Python 3" };
  const made = notebook(kernel) as { cells: { cell_type: string }[]; metadata: object };
  assert.deepEqual(made.metadata, { kernelspec: kernel });
  assert.equal(made.cells.filter(({ cell_type }) => cell_type === "code").length, 3);
  assert.deepEqual((notebook(null) as { metadata: object }).metadata, {});
});
