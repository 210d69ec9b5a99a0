/** Put the panel, its commands and the launcher's entry into the host. */

import { messageOf } from "../page/format.ts";
import { addCommands, type Icon, type Launcher, type Palette } from "./commands.ts";
import { Doing } from "./doing.ts";
import { Front, type Document } from "./link/front.ts";
import type { Application, Classes, RenderMime, Tracker, Widget } from "./link/lab.ts";
import { Link, type About } from "./link/link.ts";
import { Sidebar } from "./sidebar.ts";

const DEBUGGING = "The run waits for the kernel, or has stopped in the debugger: continue there.";
/** Event of a form that inserts a cell, see `placed.ts`. */
const INSERT = "blsnb-insert-cell";
const ID = "blsnb-panel";

/** What the host shares; null or undefined for what it lacks. */
export interface Host {
  classes: Classes;
  trackers: (Tracker<Document> | null)[];
  rendermime: RenderMime | null;
  palette: Palette | null;
  launcher: Launcher | null;
  icon: Icon;
}

export function activate(app: Application, { classes, trackers, rendermime, palette, launcher, icon }: Host): void {
  const doing = new Doing(app, classes, rendermime);
  const link = new Link((list) => sidebar.update(list));
  const act = async (action: string, about: About): Promise<void> => {
    const answered = sidebar.wait(action === "debug" ? DEBUGGING : "Waiting for the kernel.");
    try {
      const reply = await link.act(action, about).finally(answered);
      sidebar.say(await doing.follow(reply, front.document));
    } catch (error) {
      sidebar.say(messageOf(error));
    }
  };
  const start = (action: string, about: About): void => void act(action, about);
  const insert = (code: string, run: boolean): void =>
    void doing.insert([code], front.document, run).then(
      (sentence) => sidebar.say(sentence),
      (error) => sidebar.say(messageOf(error)),
    );
  const show = (tab?: string): void => {
    app.shell.activateById(ID);
    if (tab) sidebar.choose(tab);
  };
  const sidebar = new Sidebar(link, start, () => insert("%load_ext blsnb", false));
  const front = new Front(trackers, (kernel) => link.attach(kernel));
  // A tracker reports nothing when its widget comes back from behind that of another tracker.
  app.shell.currentChanged?.connect(() => front.show(app.shell.currentWidget));
  globalThis.addEventListener(INSERT, (event) => {
    if (!front.document) return;
    event.preventDefault();
    insert((event as CustomEvent<{ code: string }>).detail.code, false);
  });
  sidebar.update("");
  app.shell.add(panelOf(classes, sidebar, icon.icon), "left", { rank: 900 });
  addCommands(app, { front, show, insert, act: start }, icon, palette, launcher);
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
  panel.id = ID;
  panel.title.caption = "Triton";
  if (icon) panel.title.icon = icon;
  else panel.title.label = "Triton";
  return panel;
}
