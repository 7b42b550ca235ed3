// Builds the files that the portal's pages load into the folder that is named. See build.sh.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const out = process.argv[2];
const own = (names) => Object.fromEntries(names.sort().map(([name, data]) => [name, createHash("sha256").update(data).digest("hex")]));

const made = await build({
  entryPoints: {
    editor: "editor.js", chart: "chart.js", htmx: "htmx.js",
    plot: "node_modules/uplot/dist/uPlot.min.css",
  },
  bundle: true, minify: true, format: "iife", target: "es2022", legalComments: "none", metafile: true,
  banner: { js: "/* Licenses: LICENSES.txt */", css: "/* Licenses: LICENSES.txt */" },
  outdir: out,
});

// A package is in the files when text of it is: esbuild says which.
const used = new Set();
for (const file of Object.values(made.metafile.outputs)) {
  for (const [input, { bytesInOutput }] of Object.entries(file.inputs)) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found && bytesInOutput) used.add(found[1]);
  }
}
const licenses = [...used].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(join("node_modules", name, "package.json"), "utf8"));
  const file = readdirSync(join("node_modules", name)).find((one) => /^licen[cs]e/i.test(one));
  const text = readFileSync(join("node_modules", name, file), "utf8").replaceAll("\r\n", "\n").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
});
const rule = `\n${"-".repeat(72)}\n\n`;
writeFileSync(join(out, "LICENSES.txt"), `The packages in chart.js, editor.js, htmx.js and plot.css.\n${rule}${licenses.join(rule)}`);

const sources = ["build.mjs", "build.sh", "chart.js", "editor.js", "htmx.js", "package-lock.json", "package.json"];
const built = readdirSync(out).map((name) => [name, readFileSync(join(out, name))]);
const digests = { sources: own(sources.map((name) => [name, readFileSync(name)])), built: own(built) };
writeFileSync(join(out, "digests.json"), `${JSON.stringify(digests, null, 2)}\n`);
