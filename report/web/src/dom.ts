// Elements. Text goes in as text nodes and attributes by name, never as markup: names in a trace may hold anything.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(name, value);
    else if (typeof value === 'boolean') e.toggleAttribute(name, value);
    else e.setAttribute(name, String(value));
  }
  for (const c of children) if (c !== null && c !== undefined && c !== false) e.append(c);
  return e;
}

// Puts `text` on the clipboard; `button` says for a moment that it did. Pages from a disk may not have the clipboard's own
// interface: then by way of a selected text area.
export async function copyText(text: string, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'offscreen' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  const before = button.textContent;
  button.textContent = 'copied';
  setTimeout(() => (button.textContent = before), 1200);
}
