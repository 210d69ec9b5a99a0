/** The entry: a live widget for anywidget, and `mount` for a finished run's document. */

import { Frame } from "./frame.ts";
import { Kernel, type WidgetModel } from "./kernel.ts";
import { Live } from "./live.ts";
import type { Selection } from "./session.ts";
import type { ViewState } from "./viewstate.ts";
import { Store, type Header } from "./wire.ts";

/** What the page knows of a run: the way to its kernel, and what its last view looked like. */
interface Known {
  model: WidgetModel;
  mount: typeof mount;
  store: Store;
  live: Live;
  state?: () => ViewState;
}

type Registry = Map<string, Known>;

/** The page is told when it knows of a run's kernel. */
const REGISTERED = "blsnb-registered";

/** Above this many calls a live view is drawn twice a second. */
const MANY_CALLS = 20_000;
const SLOW_MS = 500;

/** A finished run in its host, and how to give it what could not be decoded at once. */
interface Mounted {
  complete(store: Store): void;
  dispose(): void;
}

const mounted = new WeakMap<HTMLElement, Mounted>();

/**
 * Draw a finished run into the host; returns how to remove it. On failure the host stays as it was.
 *
 * Called without header and buffer it draws what the live view left behind, if there was one: nothing is
 * decoded, so the page shows one in place of the other. Called again it takes the rest.
 */
export function mount(
  host: HTMLElement,
  header?: Partial<Header>,
  buffer?: ArrayBuffer,
): () => void {
  const known = registry().get(header?.run?.id ?? host.dataset.run ?? "");
  const store = header && buffer ? Store.of(header, buffer) : known?.store;
  let shown = mounted.get(host);
  if (!store || store.n === 0) return () => shown?.dispose();
  if (shown) shown.complete(store);
  else mounted.set(host, (shown = draw(host, store, known)));
  return shown.dispose;
}

function draw(host: HTMLElement, store: Store, known: Known | undefined): Mounted {
  const kernel = known ? new Kernel(known.model) : null;
  // A comparison can ask the kernel for the run's tensors; what was looked at was something else.
  const same = store.baseline ? undefined : known;
  const state = same?.state?.();
  const frame = new Frame({ store, kernel, state, onSelect: same && selectedIn(same.model) });
  const stop = known ? undefined : connectLater(frame, store);
  const dispose = (): void => {
    mounted.delete(host);
    stop?.();
    frame.dispose();
    frame.kernel?.dispose();
  };
  const before = [...host.childNodes];
  widen(host);
  host.append(frame.element);
  try {
    frame.start();
  } catch (error) {
    dispose();
    throw error;
  }
  for (const child of before) child.remove();
  return { complete: (whole) => frame.show(whole), dispose };
}

/**
 * After a reload documents are drawn before the page has asked the kernel for its widgets.
 *
 * Nobody tells a document that its output was removed: the page must not keep its frame alive.
 */
function connectLater(frame: Frame, { header, baseline }: Store): () => void {
  const waiting = new WeakRef(frame);
  const connect = (): void => {
    const known = registry().get(header.run.id);
    const frame = waiting.deref();
    if (frame && !known) return;
    stop();
    if (frame && known)
      frame.connect(new Kernel(known.model), baseline ? undefined : selectedIn(known.model));
  };
  const stop = (): void => globalThis.removeEventListener(REGISTERED, connect);
  globalThis.addEventListener(REGISTERED, connect);
  return stop;
}

/** JupyterLab keeps room beside HTML that it does not keep beside widgets: a view would jump. */
function widen(host: HTMLElement): void {
  const parent = host.parentElement;
  if (parent?.classList.contains("jp-RenderedHTMLCommon"))
    host.style.marginRight = `-${getComputedStyle(parent).paddingRight}`;
}

const lives = new WeakMap<WidgetModel, Live>();

/** The rows belong to the model: they are received before there is a view, and after. */
function initialize({ model }: { model: WidgetModel }): () => void {
  const live = new Live(model);
  lives.set(model, live);
  const stop = live.onChange(() => register(live));
  return () => {
    stop();
    live.dispose();
    const { id } = live.store.header.run;
    if (registry().get(id)?.live === live) registry().delete(id);
  };
}

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const found = liveOf(model);
  const live = found ?? new Live(model);
  const kernel = new Kernel(model);
  let frame: Frame | null = null;
  const draw = (): void => {
    if (frame) return frame.draw();
    const tell = {
      onSelect: selectedIn(model),
      onFilter: setter(model, "filter"),
      onHeight: setter(model, "height"),
    };
    const made = (frame = new Frame({ store: live.store, kernel, ...tell }));
    el.append(made.element);
    made.start();
    remember(() => made.state);
    obey();
  };
  /** For the document, which may come before this view goes or after. */
  const remember = (state: () => ViewState): void => {
    const known = registry().get(live.store.header.run.id);
    if (known) known.state = state;
  };
  const obey = (): void => {
    const [row, filter] = [model.get("selected"), model.get("filter")];
    if (typeof filter === "string") frame?.filterBy(filter);
    if (typeof row === "number") frame?.selectRow(row);
  };
  const repaint = everyFrame(
    draw,
    () => live.store.n > MANY_CALLS && live.store.header.run.state === "running",
  );
  const stop = live.onChange(repaint.ask);
  model.on("change:selected", obey);
  model.on("change:filter", obey);
  if (live.store.n > 0) repaint.ask();
  return () => {
    stop();
    model.off("change:selected", obey);
    model.off("change:filter", obey);
    repaint.cancel();
    if (frame) {
      const { state } = frame;
      remember(() => state);
    }
    frame?.dispose();
    kernel.dispose();
    if (!found) live.dispose();
  };
}

/** The model's rows; anywidget hands a new proxy of the model to each hook, so also by run. */
function liveOf(model: WidgetModel): Live | undefined {
  return lives.get(model) ?? registry().get(String(model.get("run_id")))?.live;
}

function register(live: Live): void {
  const { id } = live.store.header.run;
  const known = registry().get(id);
  if (known?.live === live) return;
  registry().set(id, { model: live.model, mount, store: live.store, live, state: known?.state });
  globalThis.dispatchEvent(new Event(REGISTERED));
}

/** One per page, also when several copies of this code are in it. */
function registry(): Registry {
  const page = globalThis as unknown as Record<symbol, Registry | undefined>;
  return (page[Symbol.for("blsnb")] ??= new Map());
}

/** Many messages, one repaint per animation frame; slower when asked to. */
function everyFrame(draw: () => void, slow: () => boolean): { ask(): void; cancel(): void } {
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = -Infinity;
  const paint = (): void => {
    frame = 0;
    last = performance.now();
    draw();
  };
  const ask = (): void => {
    const wait = slow() ? SLOW_MS - (performance.now() - last) : 0;
    clearTimeout(timer);
    if (wait > 0) timer = setTimeout(ask, wait);
    else frame ||= requestAnimationFrame(paint);
  };
  const cancel = (): void => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
  return { ask, cancel };
}

/** Tell Python's `selected` trait the row that was selected; −1 for none. */
function selectedIn(model: WidgetModel): (selection: Selection | null) => void {
  const set = setter(model, "selected");
  return (selection) => set(selection?.kind === "call" ? selection.call : -1);
}

/** Sets a trait that the widget has, when it changes. */
function setter(model: WidgetModel, name: string): (value: unknown) => void {
  return (value) => {
    const before = model.get(name);
    if (before === undefined || before === value) return;
    model.set(name, value);
    model.save_changes();
  };
}

export default { initialize, render };
