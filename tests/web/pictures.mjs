// A picture of every section of every page. Run by scripts/web.sh --pictures WEFT [FOLDER]: into docs/images, or into FOLDER, and
// then docs/images must have the same ones and docs/report.md show them all.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { kSample, withBrowser } from './browser.mjs';

const kImages = path.resolve('docs/images');
const folder = path.resolve(process.argv[3] ?? kImages);
const kMostHigh = 620; // of long tables their beginning
const kView = { viewport: { width: 960, height: 700 } };
const kTrace = path.basename(kSample); // what pages name it
const kSmall = 'hpl_2x2_1000_64.weft';
const kHpl = ['--n', '4000', '--nb', '64', '--p', '4', '--q', '4', '--depth', '1'];

// What is on a page: how it is made, and what is done before its sections are taken. `prefix`: where other pages have sections of
// the same name.
const kPages = [
  {
    run: ['report', kTrace, '--on', 'fat-tree-16', '--on', 'dragonfly-18', '--on', 'torus-16', '--on', 'crossbar-16', '-o'],
    wait: ['timeline', 'heat', 'network', 'matrix'],
    async before(page, shot) {
      await shot('ranking');
      await page.locator('#ranking tbody tr', { hasText: 'fat-tree-16' }).click();
      for (const id of this.wait) await page.waitForSelector(`#${id} canvas`);
      await page.evaluate(() => { // a few steps of the factorisation
        const view = document.querySelector('#timeline canvas').view;
        view.look(0.2 * view.whole, 0.26 * view.whole);
      });
    },
  },
  { run: ['replay', 'hpl.weft', '--on', 'torus-16', '--report'], only: ['regions', 'panels', 'look-ahead'], wait: ['panels', 'look-ahead'] },
  { run: ['replay', 'alltoall.weft', '--on', 'xgft:h=2,m=4x4,w=1x2,bw=100Gbps,lat=500ns', '--sensitivity', '--report'], only: ['what-if'], wait: [] },
  { run: ['replay', kSmall, '--with', kSmall, '--with', 'permutation.weft', '--map', 'strided:2', '--on', 'fat-tree-16', '--report'], only: ['jobs'], wait: [] },
  { run: ['sweep', kTrace, '--on', 'fat-tree-16', '--on', 'torus-16', '--set', 'lat=10ns,100ns,500ns,2us', '--set', 'bw=10Gbps,100Gbps', '--report'], wait: ['curves'] },
  { prefix: 'predict-', run: ['predict', 'hpl', '--on', 'torus-16', ...kHpl, '--report'], wait: ['panels'] },
  { prefix: 'tune-', run: ['tune', 'hpl', '--on', 'crossbar-16', '--n', '2000', '--nb', '50,100', '--p', '4', '--q', '4', '--evaluations', '12', '--report'], wait: [] },
  {
    prefix: 'search-', run: ['search', 'halo', '--grid', '4x2', '--on', 'cs-storm', '--report'], wait: ['schedule', 'occupation', 'distribution'],
    async before(page) { await page.locator('#occupation tbody tr').nth(3).click(); },
  },
];

const taken = new Set();
await withBrowser(async ({ weft, open, folder: work }) => {
  mkdirSync(folder, { recursive: true });
  for (const file of [kTrace, kSmall]) copyFileSync(path.join(path.dirname(kSample), file), path.join(work, file));
  weft('generate', 'hpl', ...kHpl, '-o', 'hpl.weft', '--quiet');
  weft('generate', 'alltoall', '--ranks', '16', '--bytes', '1MB', '-o', 'alltoall.weft', '--quiet');
  weft('generate', 'permutation', '--ranks', '8', '--bytes', '1MB', '--iterations', '4', '-o', 'permutation.weft', '--quiet');
  for (const [i, p] of kPages.entries()) {
    weft(...p.run, `page${i}.html`, '--quiet');
    const page = await open(`page${i}.html`, kView);
    for (const id of p.wait) await page.waitForSelector(`#${id} canvas`);
    await page.addStyleTag({ content: 'nav { position: static !important; }' }); // it would lie over what is taken in parts
    const shot = async (id) => {
      const name = `report-${id === 'repeat' ? '' : (p.prefix ?? '')}${id}.png`;
      if (taken.has(name)) return;
      taken.add(name);
      const box = await page.locator(`#${id}`).boundingBox();
      const { x, y } = await page.evaluate(() => ({ x: scrollX, y: scrollY }));
      await page.screenshot({ path: path.join(folder, name), fullPage: true, clip: { x: box.x + x, y: box.y + y, width: box.width, height: Math.min(kMostHigh, box.height) } });
    };
    await p.before?.(page, shot);
    await page.waitForTimeout(500); // canvases are drawn in frames of their own
    const sections = await page.locator('main section').evaluateAll((all) => all.map((s) => s.id));
    for (const id of p.only ?? sections) await shot(id);
    page.quiet();
  }
  weft('replay', kTrace, '--on', 'torus-16', '--report', 'replay.html');
  const dark = await open('replay.html', { ...kView, colorScheme: 'dark' });
  await dark.waitForSelector('#timeline canvas');
  await dark.waitForTimeout(600);
  taken.add('report-dark.png');
  await dark.screenshot({ path: path.join(folder, 'report-dark.png') });
});

const committed = readdirSync(kImages).filter((name) => name.startsWith('report-'));
assert.deepEqual(committed.sort(), [...taken].sort(), 'a section without its picture, or a picture without its section: scripts/web.sh --pictures WEFT');
const text = readFileSync('docs/report.md', 'utf8');
for (const name of taken) assert.ok(text.includes(`(images/${name})`), `docs/report.md does not show ${name}`);
console.log(`${taken.size} pictures in ${folder}`);
