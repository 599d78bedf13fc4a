/** Patterns that lie over the colours of what was not delivered, so that it can be told without seeing colours. Used by every picture. */
const stripes = (name: string, turn: number, gap: number): string =>
  `<pattern id="${name}-pattern" width="${gap}" height="${gap}" patternUnits="userSpaceOnUse" patternTransform="rotate(${turn})"><path d="M0 0V${gap}" class="over"/></pattern>`

export const PATTERNS = `<svg width="0" height="0" aria-hidden="true" class="patterns"><defs>
${stripes('rejected', 45, 4)}
${stripes('in-doubt', -45, 4)}
${stripes('unaccounted', 0, 3)}
<pattern id="pending-pattern" width="4" height="4" patternUnits="userSpaceOnUse"><circle cx="1" cy="1" r="0.9" class="dot"/></pattern>
</defs></svg>`
