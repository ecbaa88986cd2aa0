// node build.mjs OUT: bundles src/main.ts and style.css into one HTML file, shell.html with everything in place.
// The script is named by its hash in the page's content policy, so that nothing else can run in it.
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const out = process.argv[2];
if (!out) throw new Error('usage: node build.mjs OUT');
const kMost = 250_000;  // bytes of the page before data

async function bundle(entry, more) {
  const r = await build({
    entryPoints: [entry], bundle: true, minify: true, write: false, target: 'es2022', charset: 'ascii',
    legalComments: 'none', logLevel: 'warning', ...more,
  });
  return r.outputFiles[0].text.trimEnd();
}
const script = await bundle('src/main.ts', { format: 'iife' });
const style = await bundle('src/style.css', {});
// Text of a <script> or <style> ends at its end tag, wherever that stands.
for (const [name, text] of Object.entries({ script, style }))
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`the ${name} would end its element too early`);
if (script.includes('"weft-data"')) throw new Error('the script holds the mark of the data');

const hash = 'sha256-' + createHash('sha256').update(script).digest('base64');
const notice = readFileSync('NOTICE', 'utf8').trim();
let page = readFileSync('shell.html', 'utf8').replace('<html lang="en">', () => `<html lang="en">\n<!--\n${notice}\n-->`);
for (const [mark, text] of [['@SCRIPT_HASH@', hash], ['@STYLE@', style], ['@SCRIPT@', script]])
  page = page.replace(mark, () => text);
if (page.length > kMost) throw new Error(`the page has ${page.length} bytes before data; at most ${kMost}`);
writeFileSync(out, page);
console.log(`${page.length} bytes`);
