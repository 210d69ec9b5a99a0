/** The tensors of a call: facts, statistics and previews. */

import { h, setText } from "../page/dom.ts";
import { lacking } from "../facts/dropped.ts";
import { bytes, count, shape } from "../page/format.ts";
import { isGone, QueryError, type Answer } from "../kernel/kernel.ts";
import type { Session } from "../session/session.ts";
import type { TensorsState } from "../session/viewstate.ts";
import { BUSY_AFTER_MS, SliceView } from "./slice.ts";
import type { TensorEntry } from "../trace/header.ts";
import { distribution, isEmptyText, statistics, texts } from "../facts/tensorfacts.ts";
import { Flag } from "../trace/wire.ts";

/** Number of tensors that are listed at first: a stream may have thousands. */
const INITIAL_TENSORS = 24;
/** Maximum number of tensors of a call that are sent, as in blsnb/views/documents/entries.py. */
const MAX_TENSORS = 200;
/** Minimum time in milliseconds until a running call is queried again. */
const FRESH_MS = 2000;
/** The same as a multiple of the time that the kernel took for the answer. */
const SHARE = 10;

/** Maximum number of values that are shown before their statistics. */
const FEW_VALUES = 32;
const EMPTY = "It has no elements.";
const NOT_ALL =
  `The view lists the first ${MAX_TENSORS} tensors of a call; ` +
  "its span in run.trace has all that are kept.";
/** How to see tensors without a kernel that has the run. */
const WHAT_HELPS =
  "Run the cell again; or, while its kernel lives, run.widget() shows each tensor that is kept. " +
  "run.keep() pins a run, and blsnb.options.embed_previews embeds previews.";

type Role = TensorEntry["role"];
const HEADINGS: [Role, string][] = [
  ["input", "Inputs"],
  ["output", "Outputs"],
];

/** Whether all tensors of a call are known and small. */
export function hasFewValues(entries: readonly TensorEntry[] = []): boolean {
  const size = ({ shape: axes }: TensorEntry): number => axes.reduce((all, axis) => all * axis, 1);
  return entries.length > 0 && entries.length <= 4 && entries.every((each) => size(each) <= FEW_VALUES);
}

function keyOf({ role, name, response }: TensorEntry): string {
  return `${role}/${name}/${response}`;
}

export class TensorList {
  #session: Session;
  /** What was opened is kept from call to call. */
  #state: TensorsState = { opened: new Map(), slices: new Map() };
  /** Answers by call id. */
  #answers = new Map<number, Answer>();
  /** When a running call may be queried again, by call id. */
  #fresh = new Map<number, number>();
  /** Pending queries by call id: a repaint must not send another one. */
  #pending = new Map<number, Promise<Answer>>();
  #shown = -1;

  constructor(session: Session) {
    this.#session = session;
  }

  /** A copy of what is open, to be handed over. */
  get state(): TensorsState {
    return structuredClone(this.#state);
  }

  set state(state: TensorsState) {
    this.#state = state;
  }

  /** Discard the answers of an earlier kernel. */
  forget(): void {
    this.#answers.clear();
    this.#fresh.clear();
    this.#pending.clear();
  }

  /** Return the tensors of a call; they are replaced when the kernel answers. */
  show(call: number): HTMLElement {
    const element = h("div", { class: "tensors" });
    const { trace } = this.#session;
    const id = trace.id(call);
    this.#shown = id;
    const known = this.#answers.get(id);
    const embedded = this.#embedded(id);
    if (known) this.#fill(element, id, known);
    else if (embedded) this.#fill(element, id, embedded);
    const { kernel } = this.#session;
    if (kernel && (!known || this.#isStale(call) || !kernel.isSettled))
      this.#request(element, call, Boolean(known ?? embedded));
    else if (!known && !embedded) element.append(...this.#nothing());
    return element;
  }

  /** Return what the document has of a call, and why values are missing. */
  #embedded(id: number): Answer | undefined {
    const { header } = this.#session.trace;
    const tensors = header.tensors[id];
    if (!tensors) return undefined;
    const gone = tensors.some(({ evicted }) => evicted);
    return { tensors, lacks: gone ? (header.run.lacks ?? "values are no longer kept") : "", buffer: this.#session.buffer };
  }

  /** Whether a running call may have more tensors by now, or has ended. */
  #isStale(call: number): boolean {
    const until = this.#fresh.get(this.#session.trace.id(call));
    if (until === undefined) return false;
    return performance.now() > until || !this.#session.trace.has(call, Flag.RUNNING);
  }

  #nothing(): HTMLElement[] {
    const { lost, saved, state } = this.#session.trace.header.run;
    const text = lost
      ? "Not kept: the kernel that ran this is gone."
      : saved
        ? "Not kept: the run was still executing when this was saved."
        : state === "running"
          ? "Shown when the run has ended."
          : `Not embedded in this document. ${WHAT_HELPS}`;
    return [h("h4", {}, "Tensors"), h("p", { class: "hint" }, text)];
  }

  async #request(element: HTMLElement, call: number, filled: boolean): Promise<void> {
    const note = h("p", { class: "hint", role: "status" });
    if (!filled) element.append(h("h4", {}, "Tensors"), note);
    const busy = setTimeout(() => setText(note, "the kernel is busy"), BUSY_AFTER_MS);
    const id = this.#session.trace.id(call);
    try {
      const answer = await this.#query(call);
      if (answer.dropped) this.#session.noteDropped(answer.dropped);
      if (this.#shown === id) this.#fill(element, id, answer);
    } catch (error) {
      this.#failed(error as Error, element, note);
    } finally {
      clearTimeout(busy);
    }
  }

  /** Show an error; embedded tensors stay below it. */
  #failed(error: Error, element: HTMLElement, note: HTMLElement): void {
    const code = error instanceof QueryError ? error.code : "failed";
    if (code === "superseded") return;
    if (isGone(error) && note.isConnected) return element.replaceChildren(...this.#nothing());
    if (code !== "dropped") return setText(note, error.message);
    note.remove();
    const heading = element.childElementCount ? [] : [h("h4", {}, "Tensors")];
    element.append(...heading, ...lacking(error.message));
    const { dropped } = error as QueryError;
    if (dropped) this.#session.noteDropped(dropped);
  }

  async #query(call: number): Promise<Answer> {
    const { kernel, trace } = this.#session;
    const id = trace.id(call);
    const answering = this.#pending.get(id) ?? kernel?.tensors(trace.header.run.id, id);
    if (!answering) throw new Error("no kernel");
    this.#pending.set(id, answering);
    const running = trace.has(call, Flag.RUNNING);
    const began = performance.now();
    try {
      const answer = this.#withEmbedded(await answering, id);
      const now = performance.now();
      this.#answers.set(id, answer);
      this.#fresh.delete(id);
      if (running) this.#fresh.set(id, now + Math.max(FRESH_MS, SHARE * (now - began)));
      return answer;
    } finally {
      this.#pending.delete(id);
    }
  }

  /** Prefer embedded values where the kernel no longer keeps them. */
  #withEmbedded(answer: Answer, id: number): Answer {
    const embedded = answer.lacks ? this.#embedded(id) : undefined;
    const has = embedded?.tensors?.some(({ preview, stats }) => preview || stats);
    return embedded && has ? { ...answer, ...embedded, lacks: answer.lacks } : answer;
  }

  #fill(element: HTMLElement, call: number, answer: Answer): void {
    const tensors = answer.tensors ?? [];
    if (tensors.length === 0)
      return element.replaceChildren(
        h("h4", {}, "Tensors"),
        h("p", { class: "hint" }, "None were recorded."),
      );
    const sections = HEADINGS.flatMap(([role, heading]) => {
      const own = tensors
        .map((entry, position) => ({ entry, position }))
        .filter(({ entry }) => entry.role === role);
      if (own.length === 0) return [];
      const list = h("div");
      const items = own.map(({ entry, position }) =>
        this.#item(call, entry, position, answer, tensors),
      );
      this.#list(list, items, INITIAL_TENSORS);
      return [h("h4", {}, heading, h("span", {}, count(own.length))), list];
    });
    const more = tensors.length < MAX_TENSORS ? [] : [h("p", { class: "hint" }, NOT_ALL)];
    element.replaceChildren(...lacking(answer.lacks), ...sections, ...more);
  }

  #list(list: HTMLElement, items: HTMLElement[], shown: number): void {
    list.replaceChildren(...items.slice(0, shown));
    const rest = items.length - shown;
    if (rest <= 0) return;
    const onclick = (): void => this.#list(list, items, shown + 4 * INITIAL_TENSORS);
    list.append(h("button", { type: "button", class: "more", onclick }, `${count(rest)} more`));
  }

  #item(
    call: number,
    entry: TensorEntry,
    position: number,
    answer: Answer,
    all: TensorEntry[],
  ): HTMLElement {
    const key = keyOf(entry);
    const isOpen = (): boolean => this.#state.opened.get(key) ?? entry === this.#openAtFirst(all);
    const item = h("div", { class: "tensor" });
    const fill = (): void => {
      const head = this.#head(entry, isOpen(), `${call}/${position}`);
      head.addEventListener("click", () => {
        const opens = !isOpen();
        const first = this.#openAtFirst(all);
        // It stays open beside the one that the user opens.
        if (first) this.#state.opened.set(keyOf(first), true);
        this.#state.opened.set(key, opens);
        fill();
        item.querySelector("button")?.focus();
      });
      item.replaceChildren(head);
      if (isOpen()) item.append(this.#detail(call, entry, position, answer));
    };
    fill();
    return item;
  }

  /** Return the tensor to open, unless the user opened one: the first output with values. */
  #openAtFirst(all: TensorEntry[]): TensorEntry | undefined {
    if (this.#state.opened.size > 0) return undefined;
    const shows = ({ preview, stats }: TensorEntry): boolean =>
      stats ? stats.count > 0 : preview !== null && !isEmptyText(preview);
    return all.find((entry) => entry.role === "output" && shows(entry)) ?? all.find(shows);
  }

  #head(entry: TensorEntry, open: boolean, key: string): HTMLElement {
    const place = [entry.device, bytes(entry.byte_size)].filter(Boolean).join(" · ");
    const number = entry.response > 0 ? ` #${entry.response + 1}` : "";
    return h(
      "button",
      {
        type: "button",
        class: "head",
        "aria-expanded": String(open),
        "data-focus": `tensor-${key}`,
      },
      h("span", { class: "arrow", "aria-hidden": "true" }, entry.role === "output" ? "←" : "→"),
      h("span", { class: "name code" }, entry.name, number),
      h("span", { class: "datatype code" }, entry.datatype),
      h("span", { class: "shape code" }, shape(entry.shape)),
      h("span", { class: "place" }, place),
    );
  }

  #detail(call: number, entry: TensorEntry, position: number, answer: Answer): HTMLElement {
    const { stats, histogram, preview } = entry;
    const parts: HTMLElement[] = [];
    const facts: HTMLElement[] = [];
    if (stats?.count) facts.push(statistics(stats));
    if (histogram) facts.push(...distribution(histogram, "values"));
    // Of few values the values themselves come first.
    const few = (stats?.count ?? 0) <= FEW_VALUES;
    if (!few) parts.push(...facts);
    if (preview && isEmptyText(preview)) parts.push(h("p", { class: "hint" }, EMPTY));
    else if (preview?.kind === "text") parts.push(...texts(preview));
    else if (preview) {
      const key = `${call}/${position}`;
      const source = {
        entry,
        buffer: answer.buffer,
        run: this.#session.trace.header.run.id,
        call,
        tensor: position,
        kernel: this.#session.kernel,
      };
      const slice = new SliceView(source, preview, this.#state.slices.get(key));
      this.#state.slices.set(key, slice.state);
      slice.element.addEventListener("input", () => this.#state.slices.set(key, slice.state));
      slice.element.addEventListener("click", () => this.#state.slices.set(key, slice.state));
      parts.push(slice.element);
    } else parts.push(h("p", { class: "hint" }, this.#absent(entry)));
    if (few) parts.push(...facts);
    return h("div", { class: "detail" }, parts);
  }

  #absent({ evicted, byte_size }: TensorEntry): string {
    const { file } = this.#session.trace.header.run;
    if (evicted && file) return `${file} does not hold its values.`;
    if (evicted) return "Its values are no longer kept.";
    if (byte_size === 0) return EMPTY;
    return this.#session.kernel
      ? "Nothing to preview."
      : `Its values are not embedded in this document. ${WHAT_HELPS}`;
  }
}
