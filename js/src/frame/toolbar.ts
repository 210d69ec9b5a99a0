/** The toolbar: the run and its figures, the legend, and the controls. */

import { h, setText } from "../page/dom.ts";
import { count, time } from "../page/format.ts";
import { phaseLegend } from "../facts/phasetable.ts";
import { MANY_CALLS } from "../page/repaint.ts";
import type { Trace } from "../trace/trace.ts";
import type { Run } from "../trace/header.ts";

export interface ToolbarActions {
  filter(text: string): void;
  toggleCritical(): void;
  toggleHelp(): void;
  /** Move the focus from the filter to the timeline. */
  leave(): void;
}

export class Toolbar {
  readonly element: HTMLElement;
  readonly filter: HTMLInputElement;
  #critical: HTMLButtonElement;
  #state = h("span", { class: "state", role: "img" });
  #title = h("span", { class: "title" });
  #facts = h("span", { class: "figures" });

  constructor(actions: ToolbarActions) {
    const onclick = (): void => actions.toggleCritical();
    const critical = {
      type: "button",
      "aria-pressed": "false",
      title: "Critical path (c)",
      onclick,
    };
    this.#critical = h("button", critical, "critical path");
    const oninput = (): void => actions.filter(this.filter.value);
    const onkeydown = (event: KeyboardEvent): void => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      if (event.key === "Escape") this.clearFilter();
      actions.leave();
      event.preventDefault();
    };
    const field = {
      class: "filter",
      type: "search",
      placeholder: "Filter calls  /",
      "aria-label": "Filter calls",
    };
    this.filter = h("input", { ...field, oninput, onkeydown });
    const help = {
      type: "button",
      title: "Keyboard help (?)",
      "aria-label": "? Keyboard help",
      onclick: () => actions.toggleHelp(),
    };
    this.element = h(
      "div",
      { class: "toolbar", role: "toolbar", "aria-label": "Run" },
      this.#state,
      this.#title,
      this.#facts,
      h("span", { class: "space" }),
      h("span", { class: "legend", "aria-hidden": "true" }, phaseLegend()),
      this.#critical,
      this.filter,
      h("button", help, "?"),
    );
  }

  draw(trace: Trace): void {
    const { run } = trace.header;
    const { title, request_id, state, calls = trace.n, errors = trace.errors } = run;
    const shown =
      state === "running"
        ? "running"
        : state === "cancelled"
          ? "cancelled"
          : errors
            ? "error"
            : "done";
    const words = shown === "running" ? runningWords(run) : shown;
    this.#state.className = `state ${words === shown ? shown : "cancelled"}`;
    this.#state.setAttribute("aria-label", words);
    this.#state.setAttribute("title", words);
    setText(this.#title, request_id ? `${title} · request ${request_id}` : title);
    this.#title.setAttribute("title", this.#title.textContent ?? "");
    const models = new Set(trace.calls.model).size;
    const facts = [
      ...(run.simulated ? [h("span", { class: "simulated" }, "simulated, not measured")] : []),
      figure(time(trace.wall), "wall"),
      figure(count(calls), plural(calls, "call")),
      figure(count(models), plural(models, "model")),
    ];
    if (errors) facts.push(figure(count(errors), plural(errors, "error"), "failed"));
    if (run.folded?.length) {
      const title = "the first, the last, failed and slowest calls; the others are only counted";
      facts.push(h("span", { class: "folded", title }, `${count(trace.n)} shown one by one`));
    }
    facts.push(...compared(trace));
    if (shown === "running" || shown === "cancelled")
      facts.push(h("span", { class: shown }, words));
    if (words === "running" && trace.n > MANY_CALLS)
      facts.push(h("span", { class: "slow" }, "drawn twice a second"));
    if (run.file) facts.push(h("span", { class: "file" }, `from ${run.file}`));
    this.#facts.replaceChildren(...facts);
    this.element.classList.toggle("compared", trace.comparison !== null);
  }

  press(critical: boolean): void {
    this.#critical.setAttribute("aria-pressed", String(critical));
  }

  clearFilter(): void {
    this.filter.value = "";
    this.filter.dispatchEvent(new Event("input"));
  }
}

/** Return the state of a running run, which may be saved or silent. */
function runningWords({ saved, lost, silent }: Run): string {
  if (lost) return "the kernel is gone";
  if (silent) return `no news since ${silent}`;
  return saved ? "still running when saved" : "running";
}

function figure(number: string, noun: string, kind = ""): HTMLElement {
  return h("span", { class: kind }, h("b", {}, number), ` ${noun}`);
}

/** Return the baseline and the numbers of calls that differ. */
function compared({ comparison, header }: Trace): HTMLElement[] {
  if (!comparison || !header.counts) return [];
  const { baseline } = comparison;
  const [changed, added, missing, notCompared] = header.counts;
  const counts: [number, string][] = [
    [changed, "changed"],
    [added, "new"],
    [missing, "missing"],
  ];
  const differing = counts.filter(([number]) => number > 0);
  return [
    h("span", {}, `vs ${time(baseline.wall)} baseline`),
    ...differing.map(([number, what]) => figure(count(number), what)),
    ...(differing.length ? [] : [h("span", {}, notCompared ? "no change known" : "no call changed")]),
    ...(notCompared ? [figure(count(notCompared), "not compared")] : []),
  ];
}

function plural(number: number, noun: string): string {
  return number === 1 ? noun : `${noun}s`;
}
