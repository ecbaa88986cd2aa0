// The page: the answer, the ranking, and the sections of the run that was chosen.
import { readPage, type Page } from './data';
import { el } from './dom';
import { efficiency } from './sections/efficiency';
import { occupation } from './sections/gantt';
import { jobs } from './sections/jobs';
import { links } from './sections/links';
import { path } from './sections/path';
import { partsBeside } from './sections/parts';
import { ranking, rowName } from './sections/ranking';
import { ranks } from './sections/ranks';
import { network } from './sections/network';
import { closedForms, hidden, hplDat, panelCurve, phases, predictions, tuned } from './sections/hpl';
import { lookAhead, panels } from './sections/panels';
import { regions } from './sections/regions';
import { repeat, repeatDocument } from './sections/repeat';
import { distribution, schedule } from './sections/search';
import { Choice, type DocumentSection, type Section } from './section';
import { sweepCurves, sweepRows } from './sections/sweep';
import { timeline } from './sections/timeline';
import { heat, matrix } from './sections/traffic';
import { waits } from './sections/waits';
import { whatIf } from './sections/whatif';

// In the order of the page: one more section is one file and one row.
const kSections: Section[] = [jobs, path, whatIf, waits, efficiency, timeline, heat, network, links, matrix, ranks, regions, panels, lookAhead, repeat];

// Of verbs whose own object is shown.
const kDocuments: Record<string, DocumentSection[]> = {
  sweep: [sweepCurves, sweepRows, repeatDocument],
  predict: [predictions, phases, panelCurve, hidden, closedForms, repeatDocument],
  tune: [tuned, hplDat, repeatDocument],
  search: [schedule, occupation, distribution, repeatDocument],
};

function themeButton(): HTMLElement {
  let chosen = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const dark = () => chosen === 'dark';
  const show = (theme: string) => {
    document.documentElement.dataset['theme'] = theme;
    dispatchEvent(new Event('themechange'));
  };
  show(chosen);
  addEventListener('beforeprint', () => show('light')); // for pictures: the style sheet knows paper
  addEventListener('afterprint', () => show(chosen));
  const button = el('button', {
    type: 'button', id: 'theme', 'aria-pressed': String(dark()),
    click: () => {
      show((chosen = dark() ? 'light' : 'dark'));
      button.setAttribute('aria-pressed', String(dark()));
    },
  }, 'dark');
  return button;
}

function header(page: Page): HTMLElement {
  return el('header', {}, el('p', { class: 'brand' }, `weft ${page.verb}`, ' ', themeButton()), ...page.answer.map((a) => el('h1', {}, a)));
}

function showDocument(page: Page, root: HTMLElement): void {
  const nav = el('nav', { 'aria-label': 'sections' });
  // Why it is not the whole answer: an interrupt.
  const { error } = page.document as { error?: string };
  root.append(header(page), ...(error ? [el('p', { class: 'error' }, error)] : []), nav);
  for (const s of kDocuments[page.verb] ?? []) {
    const box = el('section', { id: s.id }, el('h2', {}, s.title));
    root.append(box);
    if (s.draw(box, page.document, page)) nav.append(el('a', { href: `#${s.id}` }, s.title));
    else box.remove();
  }
}

function show(page: Page, root: HTMLElement): void {
  let run = page.rows.find((r) => !r.error)?.run ?? 0;
  const choice = new Choice();
  const nav = el('nav', { 'aria-label': 'sections' });
  const below = el('div', { id: 'run' });
  const choose = (chosen: number) => { run = chosen; draw(); };
  const top = ranking(page, () => run, choose);
  const beside = partsBeside(page, choose);

  function draw(): void {
    choice.forget();
    top.update();
    nav.replaceChildren(el('a', { href: '#ranking' }, 'Ranking'), ...(beside ? [el('a', { href: '#parts' }, 'Parts side by side')] : []));
    below.replaceChildren();
    const shown = page.runs[run];
    if (!shown) return;
    const row = page.rows.find((r) => r.run === run);
    if (page.runs.length > 1 && row) below.append(el('h2', { id: 'shown', class: 'run' }, rowName(row, page)));
    if (shown.result.error) below.append(el('p', { class: 'error' }, shown.result.error.message));
    for (const s of kSections) {
      const box = el('section', { id: s.id }, el('h2', {}, s.title));
      if (!s.draw(box, shown, choice, page)) continue;
      below.append(box);
      nav.append(el('a', { href: `#${s.id}` }, s.title));
    }
  }

  root.append(header(page), nav, el('section', { id: 'ranking' }, el('h2', {}, 'Ranking'), top.root), ...(beside ? [beside] : []), below);
  draw();
}

const root = document.getElementById('page')!;
const page = readPage();
if (page) {
  document.title = page.answer[0] ?? 'Weft';
  if (page.document !== undefined) showDocument(page, root);
  else show(page, root);
} else {
  root.append(el('p', {}, 'No data: this is the empty page, which weft fills in.'));
}
