import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

type Triple = [number, number, number];

const FILE = readFileSync(new URL("../src/page/style.css", import.meta.url));
const STYLE = new TextDecoder().decode(FILE);
const THEMES = {
  light: tokensOf(/^\.view \{([^}]*)\}/m),
  dark: tokensOf(/^\.view\[data-theme="dark"\] \{([^}]*)\}/m),
};
const PHASES = ["queue", "input", "infer", "output"];
const GROUNDS = ["bg", "bg2", "card"];

/** What the three kinds of cones see of linear red, green and blue when one of them is missing. */
const VISIONS: Record<string, Triple[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function tokensOf(block: RegExp): Record<string, Triple> {
  const [, text = ""] = block.exec(STYLE) ?? [];
  const colours = [...text.matchAll(/--([a-z0-9-]+): #([0-9a-f]{6});/g)];
  return Object.fromEntries(colours.map(([, name, hex]) => [name, linear(hex)]));
}

function linear(hex: string): Triple {
  return [0, 2, 4].map((at) => {
    const share = parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function times(matrix: readonly Triple[], [a, b, c]: Triple): Triple {
  return matrix.map(([x, y, z]) => x * a + y * b + z * c) as Triple;
}

function contrast(one: Triple, other: Triple): number {
  const luminance = ([red, green, blue]: Triple): number =>
    0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function oklab(colour: Triple): Triple {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    colour,
  ).map(Math.cbrt) as Triple;
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
}

function apart(one: Triple, other: Triple): number {
  const [a, b] = [oklab(one), oklab(other)];
  return 100 * Math.hypot(...a.map((each, k) => each - b[k]));
}

for (const [theme, tokens] of Object.entries(THEMES)) {
  test(`${theme}: text can be read on every ground`, () => {
    for (const text of ["fg", "fg2"])
      for (const ground of GROUNDS)
        assert.ok(contrast(tokens[text], tokens[ground]) >= 4.5, `${text} on ${ground}`);
  });

  test(`${theme}: differences and failures can be read in bars and boxes`, () => {
    for (const text of ["error", "output", "infer"])
      for (const ground of ["bg", "card"])
        assert.ok(contrast(tokens[text], tokens[ground]) >= 4.5, `${text} on ${ground}`);
  });

  test(`${theme}: marks are seen on the ground of the timeline`, () => {
    for (const mark of [...PHASES, "error", "running", "accent", "fg3"])
      assert.ok(contrast(tokens[mark], tokens.bg) >= 3, mark);
  });

  test(`${theme}: phases and errors differ for every kind of colour vision`, () => {
    const named = [...PHASES, "error"];
    for (const [vision, matrix] of Object.entries(VISIONS))
      named.forEach((one, k) => {
        for (const other of named.slice(k + 1)) {
          const seen = apart(times(matrix, tokens[one]), times(matrix, tokens[other]));
          assert.ok(seen >= 10, `${vision}: ${one} and ${other} are ${seen.toFixed(1)} apart`);
        }
      });
  });
}
