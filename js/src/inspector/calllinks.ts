/** What leads from the inspector to a call. */

import { h } from "../page/dom.ts";
import { time } from "../page/format.ts";
import type { Session } from "../session/session.ts";

/** Maximum number of listed calls. */
export const LISTED_CALLS = 6;
/** A longer chain of callers is cut in its middle. */
const MAX_CRUMBS = 6;

/** What selects a call, with the time that it took. */
export function callLink(
  session: Session,
  call: number,
  place: string,
  focus = `call-${session.trace.id(call)}`,
): HTMLElement {
  const onclick = (): void => session.select({ kind: "call", call }, { reveal: true });
  return h(
    "button",
    { type: "button", class: "link", onclick, "data-focus": focus },
    h("span", {}, place),
    h("span", {}, time(session.trace.duration[call])),
  );
}

/** Return links to some of the calls. */
export function callLinks(
  session: Session,
  heading: string,
  some: readonly number[],
): HTMLElement[] {
  if (some.length === 0) return [];
  const { trace } = session;
  const place = (call: number): string => `call ${trace.id(call)} at ${time(trace.start(call))}`;
  const links = some.slice(0, LISTED_CALLS).map((call) => callLink(session, call, place(call)));
  return [h("h4", {}, heading), ...links];
}

/** Return links to the callers of a call, outermost first. */
export function breadcrumb(session: Session, call: number): HTMLElement {
  const path = session.trace.ancestors(call);
  if (path.length === 0) return h("div", { class: "breadcrumb" }, "client request");
  const steps = (callers: number[]): HTMLElement[] => callers.map((each) => crumb(session, each));
  // Of deep recursion the ends of the chain are shown.
  const shown =
    path.length > MAX_CRUMBS
      ? [...steps(path.slice(0, 2)), h("span", {}, "…"), ...steps(path.slice(-3))]
      : steps(path);
  return h(
    "div",
    { class: "breadcrumb" },
    shown.map((each) => [each, " › "]),
  );
}

/** Return a button that selects a caller; `kind` tells it from the same one elsewhere. */
export function crumb(session: Session, caller: number, kind = "crumb"): HTMLElement {
  const onclick = (): void => session.select({ kind: "call", call: caller }, { reveal: true });
  const attributes = { type: "button", class: "crumb", onclick, "data-focus": `${kind}-${session.trace.id(caller)}` };
  return h("button", attributes, session.trace.name(caller));
}
