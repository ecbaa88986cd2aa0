// The report page does what it says: numbers as in the JSON, clicks, keys, dark, print, no network, no injection.
// Run by scripts/web.sh --test WEFT.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { inflateSync } from 'node:zlib';
import { cells, kSample, withBrowser } from './browser.mjs';
import { millionSpans } from './million_spans.mjs';
import { againstNoTime, deadlockBesideARun, interrupted, manyRanks, manyRows, manySchedules, oddRuns, tinyShares } from './odd_runs.mjs';

const kPlatforms = ['fat-tree-16', 'dragonfly-18', 'torus-16', 'crossbar-16'];
const kOn = kPlatforms.flatMap((p) => ['--on', p]);

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
  // Parts side by side add up to each run's time, differences to the difference; and a bar's name shows its run.
  const parts = JSON.parse(await page.locator('#data').textContent()).runs.map((r) => r.result.critical_path.parts);
  const widths = await page.locator('#parts .bar').evaluateAll((all) => all.map((b) => [...b.children].reduce((a, e) => a + parseFloat(e.style.width), 0)));
  const slowest = Math.max(...rows.map((r) => r.makespan_s));
  rows.forEach((r, i) => assert.ok(Math.abs(widths[i] - (100 * r.makespan_s) / slowest) < 1e-3, `${r.platform}: ${widths[i]}`));
  await page.locator('#parts .tools button:visible').last().click();
  const beside = (await page.evaluate(() => window.copied)).trim().split('\n').map((l) => l.split(','));
  rows.forEach((r, i) => {
    const sum = (head) => beside.slice(1).reduce((a, line) => a + Number(line[beside[0].indexOf(head)]), 0);
    assert.ok(Math.abs(sum(`${r.platform} s`) - r.makespan_s) < 1e-9, r.platform);
    if (i > 0) assert.ok(Math.abs(sum(`${r.platform} more s`) - (r.makespan_s - rows[0].makespan_s)) < 1e-9, r.platform);
    // The page's runs are in the order in which they were asked for.
    const mine = parts[kPlatforms.indexOf(r.platform)];
    for (const part of Object.values(mine).filter((s) => s > 0)) assert.ok(beside.some((line) => Number(line[beside[0].indexOf(`${r.platform} s`)]) === part), `${r.platform} ${part}`);
  });
  await page.locator('#parts .beside button').nth(1).click();
  assert.ok((await page.locator('#shown').textContent()).startsWith(rows[1].platform));
  await page.locator('#parts .beside button').first().click();
  // The fastest is shown; a row shows its run, by mouse and by key.
  assert.ok((await page.locator('#shown').textContent()).startsWith(rows[0].platform));
  for (const [i, press] of [[2, (row) => row.click()], [3, async (row) => { await row.focus(); await page.keyboard.press('Enter'); }]]) {
    await press(page.locator('#ranking table tbody tr').nth(i));
    assert.ok((await page.locator('#shown').textContent()).startsWith(rows[i].platform));
    assert.equal(await page.locator('#ranking tr[aria-selected] td:nth-child(2)').textContent(), rows[i].platform);
  }
  // On paper bars have the names of their runs, and the widest table is no wider than the page.
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 700, height: 900 });
  assert.deepEqual(await page.locator('#parts .beside button:visible').allTextContents(), rows.map((r) => r.platform));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 700);
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
  const chain = await page.locator('#path p').first().textContent();
  const own = result.critical_path.segments.filter((s) => s.what === 'own').length;
  assert.ok(chain.includes(` ${own.toLocaleString('en')} stretches of computation and calls, and of ${result.critical_path.messages.toLocaleString('en')} messages`), chain);
  const widths = await page.locator('#path .bar span').evaluateAll((all) => all.map((e) => parseFloat(e.style.width)));
  assert.ok(Math.abs(widths.reduce((a, b) => a + b, 0) - 100) < 1e-3, String(widths));
  // Where the path's computation and contention are.
  const about = (caption) => page.locator('#path table', { has: page.getByText(caption, { exact: true }) }).locator('tbody tr');
  const { by_kernel: kernels, by_messages: rivals } = result.critical_path;
  assert.deepEqual(await about('Whose messages were in the way').locator('td:nth-child(2)').allTextContents(), rivals.slice(0, 10).map((m) => String(m.dst)));
  assert.ok(rivals.length > 0);
  assert.equal(await about('Computation by kernel').count(), kernels.length > 1 ? Math.min(10, kernels.length) : 0);
  // Wait states: kinds add up, delays are those of the JSON, a click on one chooses its rank.
  const waits = result.wait_states;
  const kinds = await page.locator('#waits .bar span').evaluateAll((all) => all.map((e) => parseFloat(e.style.width)));
  assert.ok(Math.abs(kinds.reduce((a, b) => a + b, 0) - 100) < 1e-3, String(kinds));
  const delays = page.locator('#waits table').nth(1).locator('tbody tr');
  assert.deepEqual(await delays.locator('td:first-child').allTextContents(), waits.delays.slice(0, 10).map((d) => String(d.rank)));
  assert.equal(await delays.first().locator('td').last().textContent(), `${Number(((100 * (waits.delays[0].direct_s + waits.delays[0].propagated_s)) / waits.total_s).toPrecision(3))} %`);
  await delays.first().click();
  assert.equal(await page.locator('#ranks tr[aria-selected] td').first().textContent(), String(waits.delays[0].rank));
  await delays.first().click();
  // Efficiencies, in the order of the tree.
  const e = result.efficiency;
  assert.deepEqual(await page.locator('#efficiency .value').allTextContents(),
    [e.parallel, e.load_balance, e.communication, e.serialisation, e.transfer, ...e.transfer_split.map((s) => s.efficiency)].map((v) => v.toFixed(3)));
  // A rank and a link are chosen, everywhere at once, and let go again.
  const rank = page.locator('#ranks table tbody tr').nth(3);
  await rank.click();
  assert.equal(await page.locator('#ranks tr[aria-selected] td').first().textContent(), '3');
  await page.locator('#path').getByRole('button', { name: /^show all \d+ rows$/ }).last().click();
  assert.equal(await page.locator('#path tr[aria-selected] td').first().textContent(), '3');
  await rank.click();
  assert.equal(await page.locator('#ranks tr[aria-selected]').count(), 0);
  // From the keyboard, too: the row that was chosen keeps the focus, so that Enter lets it go and Tab goes on from there.
  await rank.focus();
  for (const chosen of [['3'], []]) {
    await page.keyboard.press('Enter');
    assert.deepEqual(await page.locator('#ranks tr[aria-selected] td:first-child').allTextContents(), chosen);
  }
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.firstChild.textContent), '4');
  // The button that shows all goes: on with the first row that it brought.
  const tenth = page.locator('#waits .table').first().locator('tbody tr').nth(10);
  await page.locator('#waits').getByRole('button', { name: /^show all/ }).first().focus();
  await page.keyboard.press('Enter');
  assert.ok(await tenth.evaluate((row) => row === document.activeElement));
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
  const backOfDark = () => dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.notEqual(await backOfDark(), light);
  // On paper it is light, its pictures too, from the moment at which it is printed; and dark again afterwards.
  await dark.waitForSelector('#heat canvas');
  const heat = () => dark.locator('#heat canvas').evaluate((c) => c.toDataURL());
  const settle = () => dark.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
  await settle();
  const before = await heat();
  const printed = await dark.evaluate(() => { dispatchEvent(new Event('beforeprint')); return document.querySelector('#heat canvas').toDataURL(); });
  assert.notEqual(printed, before);
  await dark.emulateMedia({ media: 'print' });
  assert.equal(await backOfDark(), light);
  // A table that is cut says so, one that is whole does not.
  assert.equal(await dark.locator('#ranks .printed').isVisible(), false);
  assert.match(await dark.locator('#waits .table').first().innerText(), /\nThe first 10 of \d+ rows\.$/);
  assert.equal(await dark.locator('.tools').first().isVisible(), false);
  await dark.evaluate(() => dispatchEvent(new Event('afterprint')));
  await dark.emulateMedia({ media: 'screen' });
  assert.notEqual(await backOfDark(), light);
  assert.equal(await heat(), before);
  assert.equal(await dark.locator('.printed').first().isVisible(), false);
}

// Pictures of a run: what is drawn is asked of the page's own objects, what is clicked is where they are.
async function pictures({ weft, open, folder }) {
  weft('replay', kSample, '--on', 'torus-16', '--report', 'pictures.html', '--json', 'pictures.json', '--all-links');
  const result = JSON.parse(readFileSync(path.join(folder, 'pictures.json')));
  const page = await open('pictures.html');
  for (const id of ['timeline', 'heat', 'network', 'matrix']) await page.waitForSelector(`#${id} canvas`);
  const canvas = page.locator('#timeline canvas');
  await canvas.scrollIntoViewIfNeeded();
  const seen = () => page.evaluate(() => {
    const v = document.querySelector('#timeline canvas').view;
    return { from: v.from * v.data.tick_s, to: v.to * v.data.tick_s, frame: v.lastFrame_ms };
  });
  const settle = () => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
  assert.ok(Math.abs((await seen()).to - result.makespan_s) < 1e-6 * result.makespan_s);
  // Zoom and move by keys and by the wheel, down to a microsecond, and back to all.
  await canvas.focus();
  for (let i = 0; i < 16; ++i) await page.keyboard.press('+');
  await settle();
  const zoomed = await seen();
  assert.ok(zoomed.to - zoomed.from < 2e-6, JSON.stringify(zoomed));
  await page.keyboard.press('ArrowRight');
  assert.ok((await seen()).from > zoomed.from);
  await page.keyboard.press('0');
  assert.equal((await seen()).from, 0);
  await canvas.hover({ position: { x: 300, y: 100 } });
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(() => document.querySelector('#timeline canvas').view.from > 0);
  await settle();
  console.log(`a frame of the timeline takes ${(await seen()).frame.toFixed(1)} ms`);
  // A click on the row of a rank chooses it, here and in the table of ranks.
  const size = await canvas.boundingBox();
  await canvas.click({ position: { x: size.width / 2, y: 22 + ((size.height - 22) * 5.5) / 16 } });
  assert.equal(await page.locator('#ranks tr[aria-selected] td').first().textContent(), '5');
  // Under the pointer: what the rank does there.
  await canvas.hover({ position: { x: size.width / 2 + 3, y: 22 + ((size.height - 22) * 5.5) / 16 } });
  assert.match(await page.locator('#timeline-about').textContent(), /^rank 5: |messages? in view/);
  // A click on a link of the drawing chooses it in the table; what is told of it is what the replay says.
  const link = result.links.slice().sort((a, b) => b.utilization - a.utilization)[0];
  const drawing = page.locator('#network canvas');
  await drawing.scrollIntoViewIfNeeded();
  const [x, y] = await drawing.evaluate((c, name) => c.linkAt(name), link.name);
  await drawing.click({ position: { x, y } });
  const told = await page.locator('#network-about').textContent();
  assert.ok(told.startsWith(`${link.name}: ${Number((100 * link.utilization).toPrecision(3))} % used`), told);
  assert.equal(await page.locator('#links tr[aria-selected] td').first().textContent(), link.name);
  // Another row of the heat map, and a row of the matrix.
  await page.locator('#heat canvas').click({ position: { x: 400, y: 20 + 18 } });
  const first = await page.locator('#links tr[aria-selected] td').first().textContent();
  await page.locator('#heat canvas').hover({ position: { x: 402, y: 20 + 18 } });
  assert.ok((await page.locator('#heat .about').textContent()).startsWith(`${first}: `));
  const square = await page.locator('#matrix canvas').boundingBox();
  await page.locator('#matrix canvas').click({ position: { x: 80, y: 20 + ((square.height - 20) * 2.5) / 16 } });
  assert.equal(await page.locator('#ranks tr[aria-selected] td').first().textContent(), '2');
  // Arrow keys move a cursor, at first to the first place; Enter chooses what it is on.
  const press = async (id, ...keys) => {
    await page.locator(`#${id} canvas`).focus();
    for (const key of keys) await page.keyboard.press(key);
    return page.locator(`#${id} .about`).textContent();
  };
  const data = JSON.parse(await page.locator('#data').textContent()).runs[0];
  assert.match(await press('matrix', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter'), /^rank 3 sends [0-9.]+ [kM]B to 1$/);
  assert.equal(await page.locator('#ranks tr[aria-selected] td').first().textContent(), '3');
  assert.ok((await press('heat', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter')).startsWith(`${data.traffic.heat.links[2]}: `));
  assert.equal(await page.locator('#links tr[aria-selected] td').first().textContent(), data.traffic.heat.links[2]);
  assert.ok((await press('network', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'Enter')).startsWith(`${data.drawing.links[0]}: `));
  await page.keyboard.press('Tab');
  assert.equal((await page.locator('#network .about').textContent()).trim(), '', 'the cursor goes with the focus');
  // Something is drawn: more than one colour on every canvas.
  for (const id of ['timeline', 'heat', 'network', 'matrix']) {
    const colours = await page.locator(`#${id} canvas`).evaluate((c) =>
      new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size);
    assert.ok(colours > 5, `${id}: ${colours} colours`);
  }
  page.quiet();
}

// The phases of HPL, where the trace names them.
async function phasesOfHpl({ weft, open, folder }) {
  weft('generate', 'hpl', '--n', '1000', '--nb', '100', '--p', '2', '--q', '2', '--depth', '1', '-o', 'hpl.weft', '--quiet');
  weft('replay', 'hpl.weft', '--on', 'crossbar-16', '--report', 'hpl.html', '--json', 'hpl.json');
  const { regions, makespan_s } = JSON.parse(readFileSync(path.join(folder, 'hpl.json')));
  const page = await open('hpl.html');
  const shown = regions.filter((r) => r.count > 0);
  assert.ok(shown.length >= 4);
  assert.deepEqual(await cells(page, '#regions table', 1), shown.map((r) => r.name));
  assert.deepEqual(await cells(page, '#regions table', 5), shown.map((r) => `${Number(((100 * r.total_s) / makespan_s / 4).toPrecision(3))} %`));
  // Ten panels as curves: the run, its phases; and what look-ahead hid, from the columns of the page.
  await page.waitForSelector('#look-ahead canvas');
  assert.equal(await page.locator('#panels .u-legend .u-series').count(), 6);
  const data = JSON.parse(await page.locator('#data').textContent()).runs[0].panels;
  assert.equal(data.panels, 10);
  const total = (name) => {
    const bytes = inflateSync(Buffer.from(data.columns[name].data, 'base64'));
    return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8).reduce((a, b) => a + b, 0);
  };
  const share = Math.max(0, 1 - total('bcast_waited_s') / (total('factor_s') + total('bcast_took_s')));
  assert.ok(share > 0.05, String(share));
  assert.ok((await page.locator('#hidden').textContent()).includes(`: ${Number((100 * share).toPrecision(3))} % of it goes on behind`));
  page.quiet();
}

// What replays with something changed say, as in the JSON.
async function whatIf({ weft, open, folder }) {
  weft('generate', 'permutation', '--ranks', '8', '--bytes', '10MB', '--iterations', '2', '-o', 'p.weft', '--quiet');
  // One cable between the leaves for four flows each way: that is what to double. Latency does not matter.
  for (const [name, on, worth] of [['thin', 'xgft:h=2,m=4x2,w=1x1,bw=8Gbps,lat=1ns', true], ['far', 'xgft:h=2,m=4x2,w=1x1,bw=8Tbps,lat=1ms', false]]) {
    weft('replay', 'p.weft', '--on', on, '--sensitivity', '--report', `${name}.html`, '--json', `${name}.json`, '--raw');
    const { sensitivity: s, makespan_s } = JSON.parse(readFileSync(path.join(folder, `${name}.json`)));
    const page = await open(`${name}.html`);
    const classes = s.twice_as_fast.sort((a, b) => b.gain_s - a.gain_s);
    assert.ok(classes.length >= 2);
    const three = (v) => String(Number(v.toPrecision(3)));
    assert.deepEqual(await cells(page, '#what-if table', 1), [...classes.map((c) => c.name), 'latency 1 % longer', 'data 1 % longer on links', 'computation 1 % longer']);
    assert.deepEqual((await cells(page, '#what-if table', 5)).slice(0, classes.length), classes.map((c) => `${three((100 * c.gain_s) / makespan_s)} %`));
    const told = await page.locator('#worth').textContent();
    assert.ok(told.startsWith(worth ? `Worth doubling: ${classes[0].name} (` : 'No class of links is worth doubling'), told);
    if (worth) assert.ok(classes[0].gain_s > 0.3 * makespan_s && /^up/.test(classes[0].name), JSON.stringify(classes));
    const widths = await page.locator('#what-if .gain').evaluateAll((all) => all.map((e) => parseFloat(e.style.width)));
    if (worth) classes.forEach((c, i) => assert.ok(Math.abs(widths[i] - (100 * Math.max(0, c.gain_s)) / classes[0].gain_s) < 1e-3, `${widths}`));
    assert.equal(await page.locator('#tolerance li').count(), s.latency_tolerance.length);
    page.quiet();
  }
}

// More latency, and the first receive takes the message that the second waits for: what JSON has as null is a deadlock.
async function whatIfItStops({ weft, open, folder }) {
  const programs = ['0 recv -555 0 8 6\n0 recv 1 0 8 6\n', '1 compute 10000\n1 send 0 0 8 6\n', '2 recv 3 0 8 6\n2 send 0 0 8 6\n', '3 send 2 0 8 6\n', '4 compute 1000000\n'];
  writeFileSync(path.join(folder, 'stops.txt'), programs.map((text, r) => `${r} init\n${text}${r} finalize\n`).join(''));
  // Two messages, one after the other, are there just before the computation of 10 us and one message: 1 % more is too late.
  for (const [name, lat] of [['stops', '500ns'], ['stops at once', '4.975us']]) {
    weft('replay', 'stops.txt', '--on', `crossbar:n=5,bw=1GB/s,lat=${lat},speed=1Gf`, '--sensitivity', '--report', `${name}.html`, '--json', `${name}.json`);
    const { sensitivity: s } = JSON.parse(readFileSync(path.join(folder, `${name}.json`)));
    const page = await open(`${name}.html`);
    assert.ok(s.latency_tolerance.some((t) => !t.ends), JSON.stringify(s));
    const told = await page.locator('#tolerance li').allTextContents();
    s.latency_tolerance.forEach((t, i) => assert.equal(told[i].includes('longer, or a deadlock: with '), !t.ends, told[i]));
    // Of slopes: replayed, 1 % less, off by.
    const rows = s.twice_as_fast.length;
    const column = async (i) => (await cells(page, '#what-if table', i)).slice(rows);
    const replayed = await column(3), off = await column(5);
    if (name === 'stops at once') assert.equal(s.slopes[0].one_percent_more_s, null);
    s.slopes.forEach((t, i) => {
      assert.equal(replayed[i] === 'deadlock', t.one_percent_more_s === null, replayed[i]);
      assert.equal(off[i] === '-', t.difference_s === null, off[i]);
    });
    page.quiet();
  }
}

// Jobs beside each other: which rank is whose, how long each takes, where they meet; a chosen job stands out.
async function severalJobs({ weft, open, folder }) {
  weft('generate', 'permutation', '--ranks', '4', '--bytes', '10MB', '--iterations', '4', '-o', 'a.weft', '--quiet');
  weft('generate', 'ring', '--ranks', '3', '-o', 'b.weft', '--quiet');
  weft('replay', 'a.weft', '--with', 'b.weft', '--with', 'a.weft', '--map', 'strided:2', '--on', 'xgft:h=2,m=8x2,w=1x2,bw=8Gbps,lat=0', '--report', 'jobs.html', '--json', 'jobs.json');
  const { jobs, shared_links: met, ranks } = JSON.parse(readFileSync(path.join(folder, 'jobs.json')));
  const page = await open('jobs.html');
  await page.waitForSelector('#timeline canvas');
  const lines = page.locator('#jobs table').first().locator('tbody tr');
  assert.deepEqual(await lines.locator('td:nth-child(4)').allTextContents(), ['0 to 3', '4 to 6', '7 to 10']);
  assert.deepEqual(await lines.locator('td:nth-child(8)').allTextContents(), jobs.map((j) => j.slowdown.toFixed(3)));
  // The finish of a job is that of its last rank.
  for (const j of jobs) assert.equal(j.makespan_s, Math.max(...ranks.slice(j.first_rank, j.first_rank + j.ranks).map((r) => r.finish_s)));
  assert.ok(met.length > 0);
  assert.deepEqual(await page.locator('#jobs table').nth(1).locator('tbody tr td:first-child').allTextContents(), met.slice(0, 10).map((l) => l.name));
  assert.deepEqual(await cells(page, '#ranks table', 2), ranks.map((r) => String(jobs.findIndex((j) => r.rank < j.first_rank + j.ranks) + 1)));
  // Its name under the pointer; rows of the others fade where one is chosen.
  const canvas = page.locator('#timeline canvas');
  await canvas.scrollIntoViewIfNeeded();
  const size = await canvas.boundingBox();
  const row = (r) => 22 + ((size.height - 22) * (r + 0.5)) / ranks.length;
  await canvas.hover({ position: { x: 56, y: row(4) } });
  assert.match(await page.locator('#timeline-about').textContent(), /^rank 4 \(job 2, its rank 0\): /);
  await page.mouse.move(0, 0);
  const picture = () => canvas.evaluate(async (c) => {
    await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
    return c.toDataURL();
  });
  const before = await picture();
  await lines.nth(1).click();
  assert.equal(await page.locator('#jobs tr[aria-selected] td').first().textContent(), '2');
  assert.notEqual(await picture(), before);
  await lines.nth(1).focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#jobs tr[aria-selected]').count(), 0);
  assert.equal(await picture(), before);
  page.quiet();
}

// sweep, predict, tune and search show the object of their --json.
async function otherVerbs({ weft, open, folder }) {
  const shown = async (verb, ...args) => {
    const text = weft(verb, ...args, '--report', `${verb}.html`, '--json', `${verb}.json`);
    const page = await open(`${verb}.html`);
    const answer = await page.locator('h1').textContent();
    assert.ok(text.replace(/\s+/g, ' ').includes(answer.replace(/\s+/g, ' ')), `${answer}\n${text}`);
    return { page, json: JSON.parse(readFileSync(path.join(folder, `${verb}.json`))) };
  };
  const three = (v) => String(Number(v.toPrecision(3)));
  {
    // Slow links and few hops against fast links and many: the latency decides.
    const { page, json } = await shown('sweep', path.resolve('traces/samples/hpl_2x2_1000_64.weft'), '--on', 'near=crossbar:n=4,bw=1Gbps,lat=1us,speed=10Gflops',
      '--on', 'far=fat-tree:m=4,n=3,bw=100Gbps,lat=1us,speed=10Gflops', '--set', 'lat=100ns,10us,1ms');
    assert.equal(json.flips.length, 1);
    assert.ok((await page.locator('#flips li').textContent()).startsWith(`far is faster with lat=${json.flips[0].from}, near with lat=${json.flips[0].to}`));
    assert.deepEqual(await cells(page, '#sweep table', 1), json.rows.map((r) => r.set.lat));
    assert.deepEqual(await cells(page, '#sweep table', 2), json.rows.map((r) => r.label));
    assert.equal(await page.locator('#curves .u-legend .u-series').count(), 3); // the key and two platforms
    page.quiet();
  }
  {
    const { page, json } = await shown('predict', 'hpl', '--on', 'crossbar-16', '--n', '2000', '--nb', '100', '--p', '4', '--q', '4');
    assert.deepEqual(await cells(page, '#predictions table', 10), [`${three(json.gflops)} Gflop/s`]);
    const widths = await page.locator('#phases .bar span').evaluateAll((all) => all.map((e) => parseFloat(e.style.width)));
    assert.ok(Math.abs(widths.reduce((x, y) => x + y, 0) - 100) < 1e-2, String(widths));
    assert.equal(await page.locator('#phases .beside > span').first().textContent(), 'crossbar-16, N 2000, NB 100, 4 x 4');
    assert.equal(await page.locator('#panels canvas').count(), 2);
    assert.equal(await page.locator('#panels .u-legend').nth(1).locator('.u-series').count(), 5); // the column and four phases
    assert.deepEqual(await cells(page, '#look-ahead table', 7), [`${three(100 * json.bcast.hidden)} %`]);
    assert.equal(await page.locator('#closed-forms tbody tr').count(), 4);
    page.quiet();
  }
  {
    // Two networks under names of their own: bars of one scale, differences that add up.
    const on = (name, bw) => ['--on', `${name}=crossbar:n=16,bw=${bw},lat=1us,speed=20Gflops`];
    const { page, json } = await shown('predict', 'hpl', ...on('slow', '1Gbps'), ...on('fast', '10Gbps'), '--n', '2000', '--nb', '100', '--p', '4', '--q', '4');
    const runs = json.runs;
    assert.deepEqual(await page.locator('#phases .beside > span:first-child').allTextContents(), ['slow', 'fast']);
    const widths = await page.locator('#phases .bar').evaluateAll((all) => all.map((b) => [...b.children].reduce((a, e) => a + parseFloat(e.style.width), 0)));
    runs.forEach((r, i) => assert.ok(Math.abs(widths[i] - (100 * r.time_s) / runs[0].time_s) < 1e-2, `${widths}`));
    const told = await page.locator('#phases .difference').textContent();
    assert.ok(told.includes(`against slow (${three((100 * (runs[1].time_s - runs[0].time_s)) / runs[0].time_s)} %)`), told);
    assert.deepEqual(await cells(page, '#predictions table', 1), ['slow', 'fast']);
    page.quiet();
  }
  {
    // Several seeds: their spread, and a row each.
    const { page, json } = await shown('predict', 'hpl', '--on', 'dahu', '--noise', '--seed', '4', '--n', '1000', '--nb', '50', '--p', '2', '--q', '2', '--repeat', '2');
    const [spread] = json.seed_spread, tables = page.locator('#predictions table');
    assert.equal(await tables.count(), 2);
    assert.equal(await tables.nth(0).locator('tbody tr td:nth-child(11)').textContent(), `${three(spread.gflops.mean)} Gflop/s`);
    assert.deepEqual(await tables.nth(1).locator('tbody tr td:nth-child(9)').allTextContents(), ['4', '5']);
    assert.deepEqual(await page.locator('#phases .beside > span:first-child').allTextContents(), ['seed 4', 'seed 5']);
    page.quiet();
  }
  {
    const { page, json } = await shown('tune', 'hpl', '--on', 'crossbar-16', '--n', '1000', '--nb', '50,100', '--p', '4', '--q', '4', '--evaluations', '8');
    assert.deepEqual(await cells(page, '#tuned table', 2), json.rows.map((r) => String(r.nb)));
    assert.match(await page.locator('#tuned caption').textContent(), new RegExp(`^What was tried, the most precise first, of these the fastest: ${json.rows.length} of ${json.candidates} candidates$`));
    assert.equal(await page.locator('#hpl-dat pre').textContent(), json.hpl_dat_text);
    page.quiet();
  }
  {
    const { page, json } = await shown('search', 'halo', '--grid', '4x2', '--on', 'cs-storm');
    assert.deepEqual(await cells(page, '#schedule table', 3), json.best.map((b) => b.sends.join(' ')));
    // Under the pointer: the message that the step has there.
    const chart = page.locator('#schedule canvas');
    await chart.scrollIntoViewIfNeeded();
    const size = await chart.boundingBox();
    const step = json.steps[0], [from, to] = step.messages[0], end = json.steps.at(-1).finish_s;
    await chart.hover({ position: { x: 70 + ((size.width - 74) * (step.start_s + step.finish_s)) / 2 / end, y: 20 + (from + 0.5) * 26 } });
    assert.ok((await page.locator('#schedule-about').textContent()).startsWith(`${from} sends to ${to} from `));
    await page.mouse.move(0, 0);
    await chart.focus();
    await page.keyboard.press('ArrowRight'); // from there on
    const [next, target] = step.messages[1];
    assert.ok((await page.locator('#schedule-about').textContent()).startsWith(`${next} sends to ${target} from `));
    assert.deepEqual(await cells(page, '#distribution table', 3), json.histogram.slice(0, 10).map((b) => b.count.toLocaleString('en')));
    assert.equal(await page.locator('#distribution canvas[tabindex]').count(), 0, 'there is nothing to do with it');
    assert.ok((await page.locator('#distribution').textContent()).includes('proven optimal'));
    await linksByTime(page, json);
    page.quiet();
  }
}

// The Gantt over links: a message is on each link of its route, and a click or key chooses it there and in the table.
async function linksByTime(page, json) {
  const gantt = page.locator('#occupation canvas');
  await gantt.scrollIntoViewIfNeeded();
  const chosen = () => gantt.evaluate((c) => c.chosenMessage());
  const rows = await cells(page, '#occupation table', 7);
  assert.equal(rows.length, Math.min(24, json.transfers.length));
  const most = json.transfers.findIndex((t) => t.links.length === Math.max(...json.transfers.map((o) => o.links.length)));
  const t = json.transfers[most];
  const places = await gantt.evaluate((c, m) => c.placesOf(m), most);
  assert.deepEqual([...new Set(places.map(([link]) => link))].sort((a, b) => a - b), t.links.slice().sort((a, b) => a - b));
  // Its height is its share of the link, its middle within its time.
  for (const [link, , , height] of places)
    assert.ok(t.rates.some(([, , rate]) => Math.abs(height - (19 * rate) / json.links[link].bandwidth_Bps) < 1e-6), `${link}: ${height}`);
  const picture = () => gantt.evaluate(async (c) => {
    await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
    return c.toDataURL();
  });
  const before = await picture();
  await gantt.click({ position: { x: places[0][1], y: places[0][2] } });
  assert.equal(await chosen(), most);
  assert.notEqual(await picture(), before); // it is marked
  const marked = page.locator('#occupation tr[aria-selected]');
  assert.equal(await marked.locator('td').nth(6).textContent(), t.links.map((l) => json.links[l].name).join(' '));
  assert.ok((await page.locator('#occupation-about').textContent()).startsWith(`${t.src} to ${t.dst}: `));
  await page.mouse.move(0, 0);
  await marked.click();
  assert.equal(await chosen(), null);
  assert.equal(await picture(), before);
  await gantt.focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(json.transfers[await chosen()].start_s, Math.min(...json.transfers.map((o) => o.start_s)));
  await page.keyboard.press('ArrowLeft');
  assert.equal(json.transfers[await chosen()].start_s, Math.max(...json.transfers.map((o) => o.start_s)));
  await page.keyboard.press('Escape');
  assert.equal(await marked.count(), 0);
}

// Rows of accelerators below those of their ranks.
async function accelerators({ weft, open, folder }) {
  writeFileSync(path.join(folder, 'gpus.textproto'), 'topology { family: "crossbar" set: "n=8" set: "bw=10GB/s" set: "lat=1us" }\n' +
    'host { speed: "1Tflops" kernel { name: "device_dgemm" rate: "1Tflops" } kernel { name: "copy_to_device" mnk: "1ns" } kernel { name: "*" intercept: "0" } }\n');
  weft('generate', 'hpl', '--program', 'rochpl', '--n', '2000', '--nb', '100', '--p', '2', '--q', '2', '-o', 'gpus.weft', '--quiet');
  weft('replay', 'gpus.weft', '--on', 'gpus.textproto', '--critical-path', '--report', 'gpus.html');
  const page = await open('gpus.html');
  const canvas = page.locator('#timeline canvas');
  await canvas.waitFor();
  const rows = await canvas.evaluate((c) => Array.from(c.view.lines.order, (row) => [c.view.lines.rank[row], c.view.lines.lane(row)]));
  assert.deepEqual(rows.filter(([, lane]) => lane === null).map(([rank]) => rank), [0, 1, 2, 3]);
  assert.deepEqual(rows.filter(([rank, lane]) => rank === 2 && lane === 0), [[2, 0]]);
  const place = rows.findIndex(([rank, lane]) => rank === 2 && lane === 0);
  assert.equal(rows[place - 1].join(), '2,', 'below its rank');
  // Under the pointer, and chosen by a click.
  const size = await canvas.boundingBox();
  const y = 22 + ((size.height - 22) * (place + 0.5)) / rows.length;
  const x = await canvas.evaluate((c, row) => {
    const v = c.view;
    let longest = v.first[row];
    for (let i = longest; i < v.first[row + 1]; ++i) if (v.end[i] - v.begin[i] > v.end[longest] - v.begin[longest]) longest = i;
    return v.x((v.begin[longest] + v.end[longest]) / 2);
  }, await canvas.evaluate((c, p) => c.view.lines.order[p], place));
  await canvas.hover({ position: { x, y } });
  assert.match(await page.locator('#timeline-about').textContent(), /^rank 2, accelerator: device_dgemm, /);
  await canvas.click({ position: { x, y } });
  assert.equal(await page.locator('#ranks tr[aria-selected] td').first().textContent(), '2');
  page.quiet();
}

// Copies of four accelerators share links: they are no messages from a rank to itself.
async function copiesOverLinks({ weft, open, folder }) {
  const kernels = ['kernel { name: "device_dgemm" rate: "1Tflops" }', ...['device', 'host'].map((to) => `kernel { name: "copy_to_${to}" place: "links" }`), 'kernel { name: "*" intercept: "0" }'];
  writeFileSync(path.join(folder, 'links.textproto'), `topology { family: "pcie" ${['switches=0', 'cards=4', 'gpus=4', 'mem=on', 'bw=10GB/s', 'lat=0'].map((s) => `set: "${s}"`).join(' ')} }\n` +
    `host { ranks: 4 speed: "1Tflops" ${kernels.join(' ')} }\n`);
  weft('generate', 'hpl', '--program', 'rochpl', '--n', '4000', '--nb', '100', '--p', '2', '--q', '2', '-o', 'copies.weft', '--quiet');
  weft('replay', 'copies.weft', '--on', 'links.textproto', '--critical-path', '--report', 'copies.html', '--json', 'copies.json');
  const rivals = JSON.parse(readFileSync(path.join(folder, 'copies.json'))).critical_path.by_messages;
  assert.ok(rivals.some((m) => m.src === m.dst), JSON.stringify(rivals));
  const page = await open('copies.html');
  const table = page.locator('#path table', { has: page.getByText('Whose messages and copies were in the way', { exact: true }) });
  assert.deepEqual(await table.locator('tbody tr td:nth-child(2)').allTextContents(), rivals.slice(0, 10).map((m) => (m.src === m.dst ? `copies within ${m.src}` : String(m.dst))));
  page.quiet();
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

// Quantities are those of the terminal: the table that core/quantity_text.cpp is held to.
async function quantities() {
  const { buildSync } = createRequire(path.resolve(process.env.WEFT_WEB_DIR, 'package.json'))('esbuild');
  const { text } = buildSync({ entryPoints: ['report/web/src/format.ts'], bundle: true, write: false, format: 'esm' }).outputFiles[0];
  const { seconds, bytes, flopRate, count, percent } = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
  const shown = { seconds, bytes, flops: flopRate, count, percent };
  const rows = readFileSync('tests/core/data/quantities.txt', 'utf8').trim().split('\n').filter((line) => !line.startsWith('#')).map((line) => line.split(' | '));
  assert.ok(rows.length >= 50);
  for (const [kind, value, expected] of rows) assert.equal(shown[kind](Number(value)), expected, `${kind} ${value}`);
}

const started = Date.now();
await withBrowser(async (tools) => {
  for (const test of [comparison, oneReplay, pictures, millionSpans, phasesOfHpl, whatIf, whatIfItStops, severalJobs, otherVerbs, interrupted, manySchedules, manyRanks, manyRows, oddRuns, deadlockBesideARun, againstNoTime, tinyShares, accelerators, copiesOverLinks, hostileNames, quantities]) {
    const begun = Date.now();
    await test(tools);
    console.log(`ok ${test.name} ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
});
console.log(`took ${((Date.now() - started) / 1000).toFixed(1)} s`);
