// Pages of runs with nothing to draw, with too much of it, and of those that did not end.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cells } from './browser.mjs';

// Verbs that were interrupted: what there is, why it is not all, and no number for what is not known.
export async function interrupted({ open, folder }) {
  for (const verb of ['sweep', 'predict', 'tune', 'search']) { // the pages of otherVerbs
    const [before, data, after] = readFileSync(path.join(folder, `${verb}.html`), 'utf8').split(/(?<=<script id="data"[^>]*>)([^<]*)/);
    const json = JSON.parse(data);
    json.document.error = 'interrupted after 2 of 4 <runs>';
    if (verb === 'search') Object.assign(json.document, { worst_s: null, mean_s: null, median_s: null, histogram: [], proved_optimal: false, proof: 'none' });
    writeFileSync(path.join(folder, 'interrupted.html'), before + JSON.stringify(json).replaceAll('<', '\\u003c') + after);
    const page = await open('interrupted.html');
    assert.equal(await page.locator('header + .error').textContent(), json.document.error);
    if (verb === 'search') assert.match(await page.locator('#distribution').textContent(), /were timed; best [0-9.]+ ms, none can be below [0-9.]+ ms\./);
    page.quiet();
  }
}

// More ranks than a canvas has pixels: of rows one a line is drawn, and under the pointer is what is drawn there.
export async function manyRanks({ weft, open }) {
  weft('generate', 'ring', '--ranks', '66000', '--iterations', '1', '-o', 'long.weft', '--quiet');
  weft('replay', 'long.weft', '--on', 'crossbar:n=66000,bw=10GB/s,lat=1us', '--report', 'long.html', '--quiet');
  const page = await open('long.html');
  const canvas = page.locator('#timeline canvas');
  await canvas.waitFor();
  await page.waitForFunction(() => document.querySelector('#timeline canvas').view.lastFrame_ms > 0);
  const drawn = await canvas.evaluate((c) => [...new Uint32Array(c.getContext('2d').getImageData(300, 30, 1, 600).data.buffer)].filter((p) => p !== 0).length);
  assert.ok(drawn > 590, String(drawn));
  assert.match(await page.locator('#timeline-seen').textContent(), /; 640 of 66,000 rows are drawn, one a line of pixels$/);
  await canvas.scrollIntoViewIfNeeded();
  await canvas.hover({ position: { x: 300, y: 22 + 320.5 } });
  assert.match(await page.locator('#timeline-about').textContent(), /^rank 33051: /); // the middle of 103.125 rows from 33,000 on
  page.quiet();
}

// More schedules than a double holds, and more ranks than are drawn; the names of those that are have room.
export async function manySchedules({ weft, open }) {
  const text = weft('search', 'halo', '--grid', '18x17', '--on', 'torus:dims=18x17,bw=10GB/s,lat=1us', '--evaluations', '100', '--nodes', '100', '--report', 'many.html');
  assert.match(text, /, over 10\^308 schedules, /);
  const page = await open('many.html');
  assert.match(await page.locator('#distribution p').first().textContent(), /^[0-9,]+ of over 10\^308 schedules were timed; /);
  assert.equal(await page.locator('#schedule-cut').textContent(), 'The first 256 of 306 ranks; the table has all.');
  const chart = page.locator('#schedule canvas');
  const names = await chart.evaluate((c) => {
    const g = c.getContext('2d'), fill = g.fillText.bind(g), list = [];
    g.fillText = (name, x, y) => {
      if (g.textAlign === 'right') list.push([name, x - g.measureText(name).width]);
      fill(name, x, y);
    };
    dispatchEvent(new Event('themechange')); // draws it again
    return list;
  });
  assert.deepEqual(names.map(([name]) => name), Array.from({ length: 256 }, (_, r) => `${r} node-${r}`));
  assert.ok(names.every(([, left]) => left >= 0), JSON.stringify(names.find(([, left]) => left < 0)));
  page.quiet();
}

// More messages than a call takes arguments: their page opens, and its table shows them all. 30,000 runs of a sweep, which would each
// be held against all others four times: minutes.
export async function manyRows({ weft, open, folder }) {
  const grown = (file, grow) => {
    const [before, data, after] = readFileSync(path.join(folder, file), 'utf8').split(/(?<=<script id="data"[^>]*>)([^<]*)/);
    const json = JSON.parse(data);
    grow(json.document);
    writeFileSync(path.join(folder, file), before + JSON.stringify(json).replaceAll('<', '\\u003c') + after);
  };
  const kMessages = 150000;
  weft('search', 'halo', '--grid', '2x2', '--on', 'cs-storm', '--report', 'messages.html', '--quiet');
  grown('messages.html', (d) => { d.transfers = Array.from({ length: kMessages }, (_, i) => d.transfers[i % d.transfers.length]); });
  let page = await open('messages.html');
  const rows = page.locator('#occupation tbody tr');
  assert.equal(await rows.count(), 24);
  // Unseen: so many rows take long to lay out.
  const shown = await page.locator('#occupation').getByRole('button', { name: `show all ${kMessages} rows` }).evaluate((button) => {
    const section = document.querySelector('#occupation');
    section.style.display = 'none';
    button.click();
    return section.querySelectorAll('tbody tr').length;
  });
  assert.equal(shown, kMessages);
  page.quiet();
  await page.close();

  const kRuns = 30000;
  writeFileSync(path.join(folder, 'pair.txt'), '0 init\n1 init\n0 send 1 7 100 6\n1 recv 0 7 100 6\n0 finalize\n1 finalize\n');
  weft('sweep', 'pair.txt', '--on', 'crossbar:n=2,bw=1GB/s', '--set', 'lat=1us,2us', '--report', 'runs.html', '--quiet');
  grown('runs.html', (d) => { d.rows = Array.from({ length: kRuns }, (_, i) => ({ ...d.rows[0], set: { lat: `${i}ns` } })); });
  page = await open('runs.html');
  assert.equal(await page.locator('#curves .u-legend .u-series').count(), 2); // the axis and one curve of all
  await page.locator('#sweep').getByRole('button', { name: `show all ${kRuns} rows` }).waitFor();
  page.quiet();
}

// Runs with nothing to draw: no message, no time, a deadlock.
export async function oddRuns({ weft, open, folder }) {
  const ranks = (body) => `0 init\n1 init\n${body}0 finalize\n1 finalize\n`;
  const on = ['--on', 'crossbar-16', '--quiet'];
  writeFileSync(path.join(folder, 'nothing.txt'), ranks(''));
  weft('replay', 'nothing.txt', ...on, '--report', 'nothing.html');
  writeFileSync(path.join(folder, 'alone.txt'), ranks('0 compute 1000000\n'));
  weft('replay', 'alone.txt', ...on, '--report', 'alone.html');
  writeFileSync(path.join(folder, 'stuck.txt'), ranks('0 recv 1 8 1000 6\n1 recv 0 7 1000 6\n'));
  assert.throws(() => weft('replay', 'stuck.txt', ...on, '--report', 'stuck.html'), { status: 1 });
  for (const file of ['nothing.html', 'alone.html', 'stuck.html']) {
    const page = await open(file);
    await page.waitForSelector('#timeline canvas');
    await page.waitForFunction(() => document.querySelector('#timeline canvas').view.lastFrame_ms > 0);
    assert.ok(!/NaN|undefined|Infinity/.test(await page.locator('main').textContent()), file);
    if (file === 'nothing.html') assert.match(await page.locator('#path').textContent(), /The makespan of 0 s is one chain/);
    if (file === 'stuck.html') assert.ok((await page.locator('.error').textContent()).includes('wait'));
    page.quiet();
  }
}

// One of two runs hangs: it is not the fastest, wherever it is sorted, and its row in the CSV says what became of it.
export async function deadlockBesideARun({ weft, open, folder }) {
  writeFileSync(path.join(folder, 'cross.txt'), '0 init\n1 init\n0 send 1 7 66000 6\n1 send 0 8 66000 6\n0 recv 1 8 66000 6\n1 recv 0 7 66000 6\n0 finalize\n1 finalize\n');
  for (const [name, eager] of [['small', '64KiB'], ['big', '1MiB']])
    writeFileSync(path.join(folder, `${name}.textproto`), 'topology { family: "crossbar" set: "n=2" set: "bw=1GB/s" set: "lat=1us" }\n' + `mpi { eager_limit: "${eager}" }\n`);
  const on = ['--on', 'small=small.textproto', '--on', 'big=big.textproto'];
  const column = (csv, name) => { const lines = csv.trim().split('\n').map((l) => l.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/)); return lines.slice(1).map((l) => l[lines[0].indexOf(name)]); };
  for (const [verb, file, id, more] of [['report', '-o', 'ranking', []], ['sweep', '--report', 'sweep', ['--set', 'lat=1us']]]) {
    assert.throws(() => weft(verb, 'cross.txt', ...on, ...more, '--quiet', file, 'hangs.html', '--csv', 'hangs.csv'), { status: 1 });
    const page = await open('hangs.html');
    const head = page.locator(`#${id}`).getByRole('button', { name: /^time/ });
    const times = () => page.locator(`#${id} tbody tr`).evaluateAll((rows) => rows.map((r) => /\tdeadlock\t/.test([...r.children].map((c) => c.textContent).join('\t'))));
    for (let turn = 0; turn < 2; ++turn) {
      await head.click();
      assert.deepEqual(await times(), [false, true]);
    }
    await page.locator(`#${id} .tools button:visible`).last().click();
    const copied = await page.evaluate(() => window.copied), written = readFileSync(path.join(folder, 'hangs.csv'), 'utf8');
    for (const name of ['label', 'platform']) assert.deepEqual(column(copied, name).sort(), column(written, name).sort(), `${verb} ${name}`);
    assert.deepEqual(column(copied, 'makespan_s').map(Number).sort(), column(written, 'makespan_s').map(Number).sort(), verb);
    assert.match(copied, /,deadlock: 2 ranks wait forever[^\n]*\n$/);
    page.quiet();
  }
}

// The fastest run takes no time, so nothing is so many times as long or so many percent longer; all leave a message.
export async function againstNoTime({ weft, open, folder }) {
  writeFileSync(path.join(folder, 'left.txt'), '0 init\n1 init\n0 isend 1 7 0 6\n0 send 1 8 0 6\n1 recv 0 8 0 6\n0 finalize\n1 finalize\n');
  const on = (label, lat) => ['--on', `${label}=crossbar:n=2,bw=1GB/s,lat=${lat}`];
  assert.throws(() => weft('report', 'left.txt', ...on('near', '0s'), ...on('far', '1us'), '--raw', '--quiet', '-o', 'left.html'), { status: 1 });
  const page = await open('left.html');
  assert.deepEqual(await cells(page, '#ranking table', 5), ['0 s', '2 us']);
  assert.match(await page.locator('#parts .difference').textContent(), /^far: \+2 us against near, which is /);
  assert.ok(!/NaN|undefined|Infinity/.test(await page.locator('main').textContent()));
  page.quiet();
}

// 0.2 us of 1,000 s: a share as the text has it, without an exponent.
export async function tinyShares({ weft, open, folder }) {
  writeFileSync(path.join(folder, 'long.txt'), '0 init\n1 init\n0 compute 1e12\n0 send 1 7 0 6\n1 recv 0 7 0 6\n0 finalize\n1 finalize\n');
  const on = (label, lat) => ['--on', `${label}=crossbar:n=2,bw=1GB/s,lat=${lat},speed=1Gflops`];
  weft('report', 'long.txt', ...on('near', '1us'), ...on('far', '1.1us'), '--raw', '--quiet', '-o', 'tiny.html');
  const page = await open('tiny.html');
  assert.match(await page.locator('#parts .difference').textContent(), /\(<0\.0001 %\)/);
  page.quiet();
}
