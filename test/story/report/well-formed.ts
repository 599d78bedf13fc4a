/** Checks that a page is well formed, without a browser. */
const EMPTY = new Set(['meta', 'br', 'wbr', 'rect', 'path', 'circle'])

/** Tags that are closed out of turn, or not at all; HTML's and SVG's elements without content have no end. */
export function misnested(page: string): string[] {
  const open: string[] = []
  const wrong: string[] = []
  for (const [, end, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)(?:\s[^<>]*)?>/g)) {
    if (EMPTY.has(name)) continue
    if (end === '') open.push(name)
    else if (open.pop() !== name) wrong.push(name)
  }
  return [...wrong, ...open]
}
