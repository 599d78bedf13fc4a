/** Style of a report: on screens, light and dark, wide and narrow, and on paper. */

/** Colours for readers who see red and green alike, too: blues for delivered outcomes, orange, purple and greys for the rest. */
const LIGHT = `--ink: #1b2430; --soft: #586473; --line: #dde2e8; --ground: #fff; --tint: #f5f7f9; --over: #fff;
  --accepted: #0b62a4; --unchanged: #6db5e0; --rejected: #c94f0c; --in-doubt: #a2488c; --pending: #8b949e;
  --skipped: #a9b1ba; --mapped: #4c5a6b; --neutral: #4c5a6b; --unaccounted: #c8102e`
const DARK = `--ink: #e5e9ee; --soft: #9aa5b2; --line: #313a45; --ground: #13171c; --tint: #1b2128; --over: #13171c;
  --accepted: #4ba0e0; --unchanged: #a5d8f5; --rejected: #f0813a; --in-doubt: #dc8cc8; --pending: #7f8994;
  --skipped: #6b7580; --mapped: #a3afbc; --neutral: #a3afbc; --unaccounted: #ff5468`

const OUTCOME_CLASSES = [
  ...['accepted', 'unchanged', 'rejected', 'in-doubt', 'pending'],
  ...['skipped', 'mapped', 'neutral', 'unaccounted'],
]
  .map((name) => `.${name} { --own: var(--${name}) }`)
  .join('\n')

export const STYLE = `
:root { color-scheme: light dark; ${LIGHT} }
@media (prefers-color-scheme: dark) { :root { ${DARK} } }
${OUTCOME_CLASSES}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 64rem; padding: 2.5rem 1.5rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere }
h2 { font-size: 1.05rem; margin: 0 0 .75rem }
h2 span { color: var(--soft); font-weight: normal; font-size: .9rem }
p { margin: 0 0 .75rem }
section { padding: 1.5rem 0 0; margin: 1.5rem 0 0; border-top: 1px solid var(--line) }
code, pre { font: .87em/1.5 ui-monospace, monospace }
.what, .soft, .note, .none, .outcome, footer { color: var(--soft) }
.what { font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; margin: 0 }
.note, .soft, .outcome { font-size: .87em }
footer { margin: 2.5rem 0 0; padding: 1rem 0 0; border-top: 1px solid var(--line); font-size: .87em }
.patterns { position: absolute }
.over { stroke: var(--over); stroke-width: 2; stroke-opacity: .55 }
.dot { fill: var(--over) }

.verdict { display: inline-block; margin: .75rem 0 1.25rem; padding: .3rem .8rem; border-radius: .3rem; font-weight: 600;
  border: 1px solid var(--own); border-left-width: .4rem; background: color-mix(in srgb, var(--own) 9%, transparent) }
.verdict span { color: var(--own) }
.well { --own: var(--accepted) } .left { --own: var(--rejected) } .open { --own: var(--pending) } .bad { --own: var(--unaccounted) }
.outcomes { list-style: none; display: flex; flex-wrap: wrap; gap: .5rem 1.75rem; margin: 0 0 1.25rem; padding: 0 }
.outcomes li { border-left: .25rem solid var(--own); padding-left: .6rem }
.outcomes strong { display: block; font-size: 1.3rem; line-height: 1.2 }
.outcomes span { color: var(--soft); font-size: .87em }
nav { margin: 1.5rem 0 0; font-size: .87em }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: 0 }
a { color: var(--accepted) }
header dl { display: flex; flex-wrap: wrap; gap: .75rem 2rem; margin: 0 }
dt { color: var(--soft); font-size: .87em }
dd { margin: 0; overflow-wrap: anywhere }
.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1.5rem; margin: 1rem 0 0 }
.notes { margin: 1.25rem 0 0; padding: .75rem 1rem .75rem 2rem; background: var(--tint); border-radius: .3rem; overflow-wrap: anywhere }
.alarm { border: 2px solid var(--unaccounted); border-radius: .3rem; padding: .75rem 1rem; margin: 0 0 1rem }
.alarm strong { color: var(--unaccounted); font-size: 1.1em }
.alarm p, .alarm ul { margin: 0 }
pre { margin: 0 0 .75rem; padding: .5rem .9rem; background: var(--tint); border-radius: .3rem; white-space: pre-wrap;
  overflow-wrap: anywhere }
.steps p { margin: 0 0 .25rem }
.steps pre:last-child { margin: 0 }

svg { display: block; max-width: 100%; height: auto }
svg text { fill: var(--ink); font-size: 13px }
.flow text { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; stroke-linejoin: round }
svg .head, svg .axis { fill: var(--soft); font-size: 12px; stroke: none }
svg .count { font-weight: 600 }
svg .mark { fill: var(--soft) }
svg .end { text-anchor: end } svg .middle { text-anchor: middle }
.ground { fill: var(--ground) }
.node { fill: var(--own) }
.link { fill: none; stroke: var(--own); stroke-opacity: .32 }
.link.neutral, .link.mapped, .link.skipped { stroke-opacity: .18 }
.link.rejected, .link.in-doubt, .link.unaccounted, .link.pending { stroke-opacity: .5 }
.link.thin { stroke-opacity: .75 }
.link.neutral.thin, .link.mapped.thin, .link.skipped.thin { stroke-opacity: .4 }
.grid { stroke: var(--line) }
.pause { stroke: var(--ink); stroke-dasharray: 3 3 }
figure { margin: 0 0 1.25rem }
figcaption { color: var(--soft); margin: 0 0 .4rem }
.narrow { display: none }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 .5rem; padding: 0 }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .4em; background: var(--own) }

.scroll { overflow-x: auto }
.scroll + .scroll, details + .scroll, .scroll + .note, details + .note { margin-top: 1.75rem }
.scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--accepted); outline-offset: 2px }
table { border-collapse: collapse; width: 100% }
table.short { width: auto }
th, td { text-align: left; vertical-align: top; padding: .3rem 1.1rem .3rem 0; font-weight: normal }
th:last-child, td:last-child { padding-right: 0 }
thead th { color: var(--soft); font-size: .87em; white-space: nowrap; border-bottom: 1px solid var(--line) }
tbody tr + tr > * { border-top: 1px solid color-mix(in srgb, var(--line) 55%, transparent) }
tbody th, .name { overflow-wrap: break-word }
.whole { white-space: nowrap }
tbody th { min-width: 9rem }
.kinds th, .short th, .reasons th { min-width: 0; overflow-wrap: normal; white-space: nowrap }
tfoot > tr > * { border-top: 1px solid var(--line); font-weight: 600 }
.number { text-align: right; white-space: nowrap }
.bar { min-width: 120px; margin-top: .35rem }
.reasons td:nth-child(2) { width: 7rem; min-width: 4rem; padding-top: .55rem }
.reasons td { overflow-wrap: anywhere }
.reasons th { font-weight: 600 }
h3 { font-size: .95rem; margin: 1.5rem 0 .5rem }
.meanings { margin: 0 0 1rem; max-width: 46rem }
.meanings dt { margin-top: .6rem; scroll-margin-top: 1rem }
.meanings dt:target, .meanings dt:target + dd { background: var(--tint); box-shadow: -.5rem 0 var(--tint), .5rem 0 var(--tint) }
svg.share { width: 100%; height: .7rem; fill: var(--own, var(--soft)) }
.files code { overflow-wrap: anywhere }
details { margin: .75rem 0 0 }
summary { color: var(--soft); cursor: pointer; width: max-content; max-width: 100% }
details > :not(summary) { margin-top: .5rem }

@media screen and (max-width: 46rem) {
  body { padding: 1.25rem 1rem }
  .wide { display: none }
  .narrow { display: block }
  .facts { grid-template-columns: minmax(0, 1fr) }
  .facts dd { margin-bottom: .4rem }
  .stacked thead { display: none }
  .stacked tr { display: grid; grid-template-columns: 3.2rem minmax(0, 1fr); gap: 0 .9rem; padding: .5rem 0;
    border-top: 1px solid var(--line) }
  .stacked tr > * { padding: 0; border: 0 }
  .reasons td { grid-column: 2 }
  .reasons td:nth-child(2) { width: auto; padding: .45rem 0 0 }
  .drift tr { grid-template-columns: max-content minmax(0, 1fr) }
  .drift th, .drift td:last-child { grid-column: 1 / -1 }
  .files tr { grid-template-columns: minmax(0, 1fr) }
  .files .number { text-align: left }
}
@media print {
  :root { color-scheme: light; ${LIGHT} }
  @page { margin: 14mm }
  body { padding: 0; max-width: none; font-size: 9.5pt }
  .wide { display: block }
  .narrow, .numbers, nav { display: none }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  section { margin: 1rem 0 0; padding: 1rem 0 0 }
  h2 { break-after: avoid }
  svg, tr, figure, .alarm, .notes { break-inside: avoid }
  .scroll { overflow: visible }
  .rest::details-content { content-visibility: visible; display: block; height: auto }
  .rest > summary { list-style: none }
}
`
