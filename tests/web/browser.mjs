// Pages of weft in a headless Chromium, opened from a file.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(path.resolve(process.env.WEFT_WEB_DIR, 'package.json'))('playwright-core');
export const kSample = path.resolve('traces/samples/hpl_4x4_2000_64.weft');
const kWeft = path.resolve(process.argv[2]);

// Texts of a column of a table, from 1 on.
export const cells = (page, table, column) => page.locator(`${table} tbody tr td:nth-child(${column})`).allTextContents();

// Calls `f({ weft, open, folder })`: `weft(arguments)` runs the program in a folder that goes away, `open(file, options)` gives a
// page of it that must not print on the console, throw, or ask for anything but itself (told by its `quiet()`).
export async function withBrowser(f) {
  const folder = mkdtempSync(path.join(tmpdir(), 'weft-page-'));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'],
  });
  const weft = (...args) => execFileSync(kWeft, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] }).toString();
  const open = async (file, options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1240, height: 900 }, ...options });
    const page = await context.newPage();
    const seen = [];
    const address = pathToFileURL(path.resolve(folder, file)).href;
    page.on('console', (m) => seen.push(`console ${m.type()}: ${m.text()}`));
    page.on('pageerror', (e) => seen.push(`error: ${e}`));
    page.on('request', (r) => { if (r.url().split('#')[0] !== address) seen.push(`request: ${r.url()}`); });
    page.quiet = () => assert.deepEqual(seen, []);
    await page.addInitScript(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
    await page.goto(address);
    return page;
  };
  try {
    await f({ weft, open, folder });
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
}
