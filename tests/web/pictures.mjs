// The pictures in docs/images: each section of a page that compares four networks. Run by scripts/web.sh --pictures WEFT.
import path from 'node:path';
import { kSample, withBrowser } from './browser.mjs';

await withBrowser(async ({ weft, open }) => {
  weft('report', kSample, '--on', 'fat-tree-16', '--on', 'dragonfly-18', '--on', 'torus-16', '--on', 'crossbar-16', '-o', 'page.html');
  const page = await open('page.html', { viewport: { width: 960, height: 700 } });
  await page.addStyleTag({ content: 'nav { position: static !important; }' }); // it would lie over what is taken in parts
  const shot = async (id) => {
    await page.waitForTimeout(400); // canvases are drawn in frames of their own
    await page.locator(`#${id}`).screenshot({ path: path.resolve(`docs/images/report-${id}.png`) });
  };
  await shot('ranking');
  await page.locator('#ranking tbody tr', { hasText: 'fat-tree-16' }).click();
  for (const id of ['timeline', 'heat', 'network', 'matrix']) await page.waitForSelector(`#${id} canvas`);
  for (const id of ['path', 'efficiency', 'heat', 'matrix', 'ranks', 'repeat']) await shot(id);
  // A few steps of the factorisation.
  await page.evaluate(() => {
    const view = document.querySelector('#timeline canvas').view;
    view.look(0.2 * view.whole, 0.26 * view.whole);
  });
  await shot('timeline');
  await shot('network');
  weft('replay', kSample, '--on', 'torus-16', '--report', 'replay.html');
  const dark = await open('replay.html', { viewport: { width: 960, height: 700 }, colorScheme: 'dark' });
  await dark.waitForSelector('#timeline canvas');
  await dark.waitForTimeout(600);
  await dark.screenshot({ path: path.resolve('docs/images/report-dark.png') });
});
