// What it takes to repeat the run, and what was assumed.
import type { Page, Run } from '../data';
import { copyText, el } from '../dom';
import { bytes, count } from '../format';
import type { Choice, DocumentSection, Section } from '../section';

function fact(name: string, ...values: (string | Node)[]): HTMLElement[] {
  return [el('dt', {}, name), el('dd', {}, ...values)];
}

function commandFacts(page: Page): HTMLElement[] {
  const copy = el('button', { type: 'button', click: () => void copyText(page.command, copy) }, 'copy');
  return [...fact('command', el('code', { id: 'command' }, page.command), ' ', copy), ...fact('version', `weft ${page.version}`)];
}

function warnings(box: HTMLElement, page: Page): void {
  if (page.warnings.length > 0)
    box.append(el('h3', {}, 'Warnings'), el('ul', { class: 'warnings' }, ...page.warnings.map((w) => el('li', {}, w))));
}

export const repeatDocument: DocumentSection = {
  id: 'repeat',
  title: 'To repeat it',
  draw(box: HTMLElement, document: unknown, page: Page): boolean {
    const d = document as { platform?: string; model?: string | { name: string }; config?: Record<string, unknown> };
    const model = typeof d.model === 'object' ? d.model.name : d.model;
    box.append(el('dl', {}, ...commandFacts(page), ...(d.platform ? fact('platform', d.platform) : []), ...(model ? fact('model', `${model} sharing`) : []),
      ...(d.config ? fact('configuration', Object.entries(d.config).map(([k, v]) => `${k} ${String(v)}`).join(', ')) : [])));
    warnings(box, page);
    return true;
  },
};

export const repeat: Section = {
  id: 'repeat',
  title: 'To repeat it',
  draw(box: HTMLElement, run: Run, _choice: Choice, page: Page): boolean {
    const r = run.result;
    const { mpi: _, assumed, ...model } = r.model;
    const told = Object.entries(model).filter(([, v]) => v !== null && v !== false && !(typeof v === 'object' && Object.keys(v as object).length === 0))
      .map(([k, v]) => `${k} ${typeof v === 'object' ? JSON.stringify(v) : String(v)}`).join(', ');
    box.append(el('dl', {},
      ...commandFacts(page),
      ...fact('trace', `${r.trace.name}: ${count(r.trace.ranks)} ranks, ${count(r.trace.ops)} operations, ${count(r.trace.messages)} messages of ${bytes(r.trace.bytes)}`),
      ...fact('platform', `${r.platform.name}: ${count(r.platform.hosts)} hosts, ${count(r.platform.links)} links, routing ${r.platform.routing}`),
      ...fact('model', told),
      ...(r.changes.length > 0 ? fact('flags', r.changes.join(' ')) : []),
      ...(assumed.length > 0
        ? fact('assumed', `${assumed.join(', ')} (neither the platform nor the command says)`) : []),
      ...fact('fingerprint', r.fingerprint)));
    warnings(box, page);
    return true;
  },
};
