// The report page does what it says: numbers as in the JSON, clicks, keys, dark, print, no network, no injection.
// Run by scripts/web.sh --test WEFT.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { kSample, withBrowser } from './browser.mjs';

const kPlatforms = ['fat-tree-16', 'dragonfly-18', 'torus-16', 'crossbar-16'];
const kOn = kPlatforms.flatMap((p) => ['--on', p]);

const cells = (page, table, column) => page.locator(`${table} tbody tr td:nth-child(${column})`).allTextContents();

async function comparison({ weft, open, folder }) {
  const text = weft('report', kSample, ...kOn, '-o', 'compare.html', '--json', 'compare.json');
  const rows = JSON.parse(readFileSync(path.join(folder, 'compare.json'))).rows;
  const page = await open('compare.html');

  const paint = await page.evaluate(async () => {
    for (let i = 0; i < 100 && performance.getEntriesByName('first-contentful-paint').length === 0; ++i)
      await new Promise((r) => setTimeout(r, 20));
    return performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  });
  console.log(`first paint after ${Math.round(paint)} ms, page of ${statSync(path.join(folder, 'compare.html')).size} bytes`);
  assert.ok(paint < 3000, `first paint after ${paint} ms`); // 1 s on an idle machine

  // The answer is the sentence of the terminal.
  const answer = await page.locator('h1').textContent();
  assert.ok(text.replace(/\s+/g, ' ').startsWith(answer), `${answer}\n${text}`);
  const head = (name) => page.locator('#ranking').getByRole('button', { name, exact: true });
  // The ranking is that of the JSON, and can be sorted by a click on a head, from the keyboard too.
  assert.deepEqual(await cells(page, '#ranking table', 2), rows.map((r) => r.platform));
  assert.deepEqual(await cells(page, '#ranking table', 6), rows.map((r) => r.slowdown.toFixed(3)));
  await head('cables').click();
  const byCables = rows.slice().sort((a, b) => b.cables - a.cables).map((r) => String(r.cables));
  assert.deepEqual(await cells(page, '#ranking table', 14), byCables);
  await head('time').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  assert.deepEqual(await cells(page, '#ranking table', 2), rows.map((r) => r.platform));
  // Copied at full precision.
  await page.locator('#ranking .tools button:visible').last().click();
  const csv = (await page.evaluate(() => window.copied)).trim().split('\n').map((l) => l.split(','));
  assert.equal(csv.length, 1 + rows.length);
  rows.forEach((r, i) => assert.equal(Number(csv[i + 1][csv[0].indexOf('makespan_s')]), r.makespan_s));
  // The fastest is shown; a row shows its run, by mouse and by key.
  assert.ok((await page.locator('#shown').textContent()).startsWith(rows[0].platform));
  for (const [i, press] of [[2, (row) => row.click()], [3, async (row) => { await row.focus(); await page.keyboard.press('Enter'); }]]) {
    await press(page.locator('#ranking table tbody tr').nth(i));
    assert.ok((await page.locator('#shown').textContent()).startsWith(rows[i].platform));
    assert.equal(await page.locator('#ranking tr[aria-selected] td:nth-child(2)').textContent(), rows[i].platform);
  }
  page.quiet();
  return { page, rows };
}

async function oneReplay({ weft, open, folder }) {
  weft('replay', kSample, '--on', 'torus-16', '--critical-path', '--report', 'replay.html', '--json', 'replay.json');
  const result = JSON.parse(readFileSync(path.join(folder, 'replay.json')));
  const page = await open('replay.html');
  // Shares of the critical path add up to the makespan, and are those of the JSON.
  const parts = Object.values(result.critical_path.parts).filter((s) => s > 0).sort((a, b) => b - a);
  const share = (s) => `${Number(((100 * s) / result.makespan_s).toPrecision(3))} %`;
  assert.deepEqual(await cells(page, '#path-parts', 3), parts.map(share));
  const widths = await page.locator('#path .bar span').evaluateAll((all) => all.map((e) => parseFloat(e.style.width)));
  assert.ok(Math.abs(widths.reduce((a, b) => a + b, 0) - 100) < 1e-3, String(widths));
  // Efficiencies, in the order of the tree.
  const e = result.efficiency;
  assert.deepEqual(await page.locator('#efficiency .value').allTextContents(),
    [e.parallel, e.load_balance, e.communication, e.serialisation, e.transfer].map((v) => v.toFixed(3)));
  // A rank and a link are chosen, everywhere at once, and let go again.
  const rank = page.locator('#ranks table tbody tr').nth(3);
  await rank.click();
  assert.equal(await page.locator('#ranks tr[aria-selected] td').first().textContent(), '3');
  await rank.click();
  assert.equal(await page.locator('#ranks tr[aria-selected]').count(), 0);
  await page.locator('#path td', { hasText: result.critical_path.by_link[0].name }).first().click();
  if (result.links.some((l) => l.name === result.critical_path.by_link[0].name))
    assert.equal(await page.locator('#links tr[aria-selected] td').first().textContent(), result.critical_path.by_link[0].name);
  assert.equal(await page.locator('#command').textContent(), result.command);
  // Dark and print.
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.locator('#theme').click();
  assert.notEqual(await back(), light);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('nav').isVisible(), false);
  page.quiet();
  const dark = await open('replay.html', { colorScheme: 'dark' });
  assert.notEqual(await dark.evaluate(() => getComputedStyle(document.body).backgroundColor), light);
}

async function hostileNames({ weft, open, folder }) {
  // A path of folders that reads as markup.
  const name = '</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1><!--&quot;"\'.weft';
  mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
  copyFileSync(kSample, path.join(folder, name));
  weft('report', name, '--on', 'torus-16', '--on', 'crossbar-16', '-o', 'hostile.html');
  const page = await open('hostile.html');
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.ok((await page.locator('#repeat').textContent()).includes(`${name}: 16 ranks`));
  page.quiet();
}

const started = Date.now();
await withBrowser(async (tools) => {
  for (const test of [comparison, oneReplay, hostileNames]) {
    await test(tools);
    console.log(`ok ${test.name}`);
  }
});
console.log(`took ${((Date.now() - started) / 1000).toFixed(1)} s`);
