/** Commands of the palette, and the launcher's notebook with a first model. */

import { isNotebook, type Document } from "./link/front.ts";
import type { Application } from "./link/lab.ts";
import type { About } from "./link/link.ts";
import cells from "./template.json" with { type: "json" };

export interface Palette {
  addItem(item: { command: string; category: string; args?: object }): unknown;
}

export interface Launcher {
  add(item: { command: string; category: string; rank: number; kernelIconUrl: string }): unknown;
}

/** What commands do in the panel. */
export interface Doer {
  readonly front: { readonly document: Document | null };
  show(list?: string): void;
  insert(code: string, run: boolean): void;
  act(action: string, about: About): void;
}

/** The panel's icon, as the host has it and as SVG. */
export interface Icon {
  icon: unknown;
  picture: string;
}

const CATEGORY = "Triton";
/** The name of the newest run in a request. */
const NEWEST = "";
const NEW = "blsnb:new-notebook";

/** Add the commands; those about a kernel are enabled while a notebook or console is open. */
export function addCommands(
  app: Application,
  doer: Doer,
  { icon, picture }: Icon,
  palette: Palette | null,
  launcher: Launcher | null,
): void {
  const document = (): Document | null => doer.front.document;
  const isInNotebook = (): boolean => {
    const shown = document();
    return shown !== null && isNotebook(shown);
  };
  const add = (id: string, label: string, execute: () => void, isEnabled: () => boolean = () => document() !== null): void => {
    app.commands.addCommand(id, { label, execute, isEnabled });
    palette?.addItem({ command: id, category: CATEGORY });
  };
  add("blsnb:show-panel", "Show the Triton Panel", () => doer.show(), () => true);
  add("blsnb:load-ext", "Insert %load_ext blsnb", () => doer.insert("%load_ext blsnb", false));
  add("blsnb:insert-model", "Insert a Model Cell", () => doer.insert(cells[2][1], false), isInNotebook);
  add("blsnb:list-models", "List Models", () => doer.insert("%triton models", true));
  add("blsnb:show-graph", "Show the Graph of the Models", () => doer.show("graph"));
  add("blsnb:view-run", "View the Newest Run", () => doer.act("view", { run: NEWEST }));
  add("blsnb:debug-run", "Debug the Newest Run", () => doer.act("debug", { run: NEWEST }));
  add("blsnb:save-run", "Save the Newest Run", () => doer.act("save", { run: NEWEST }));
  const create = ({ cwd = "" }: { cwd?: string }): Promise<unknown> => newNotebook(app, cwd);
  app.commands.addCommand(NEW, {
    label: (given: { isPalette?: boolean }) => (given.isPalette ? "New Notebook with a First Model" : "Triton Model"),
    caption: "A notebook with a first model",
    icon,
    execute: create,
  });
  palette?.addItem({ command: NEW, category: CATEGORY, args: { isPalette: true } });
  // Beside the notebooks of kernels, whose pictures have addresses.
  const kernelIconUrl = `data:image/svg+xml,${encodeURIComponent(picture.replace("#616161", "#12866a"))}`;
  launcher?.add({ command: NEW, category: "Notebook", rank: 10, kernelIconUrl });
}

/** Write a notebook into a folder of the server, and open it. */
async function newNotebook({ serviceManager, commands }: Application, folder: string): Promise<unknown> {
  const { contents, kernelspecs } = serviceManager;
  const { path } = await contents.newUntitled({ path: folder, type: "notebook" });
  await contents.save(path, { type: "notebook", format: "json", content: notebook(kernelOf(kernelspecs.specs)) });
  return commands.execute("docmanager:open", { path });
}

type Specs = Application["serviceManager"]["kernelspecs"]["specs"];

/** Return a Python kernel: the server's own one if it is of Python. */
function kernelOf(specs: Specs): { name: string; display_name: string } | null {
  const known = Object.values(specs?.kernelspecs ?? {}).filter((each) => each?.language === "python");
  const found = known.find((each) => each?.name === specs?.default) ?? known[0];
  return found ? { name: found.name, display_name: found.display_name } : null;
}

/** Return a notebook of the template's cells. */
export function notebook(kernel: { name: string; display_name: string } | null): object {
  const made = cells.map(([cell_type, source], index) => ({
    cell_type,
    id: `first-model-${index}`,
    metadata: {},
    source,
    ...(cell_type === "code" ? { execution_count: null, outputs: [] } : {}),
  }));
  return { cells: made, metadata: kernel ? { kernelspec: kernel } : {}, nbformat: 4, nbformat_minor: 5 };
}
