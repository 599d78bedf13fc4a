/** Style of the console: the style of a report, with forms, a grid of nights and a strip of batches. */
import { STYLE as REPORT } from '../story/report/style.ts'

export const STYLE = `${REPORT}
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.skip { position: absolute; left: -99rem; padding: .5rem 1rem; background: var(--ground) }
.skip:focus { left: 1rem; top: .5rem; z-index: 1 }
body { padding-top: 1rem }
main:focus { outline: none }
main > h1 { margin: 0 0 .75rem }
header.bar { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; border-bottom: 1px solid var(--line);
  padding: 0 0 .5rem; margin: 0 0 1.5rem }
header.bar nav { margin: 0; font-size: 1em; flex: 1 1 100% }
header.bar button { font-size: .87em; min-height: 1.75rem; padding: .1rem .6rem }
header.bar #live { flex: 1 1 auto }
header.bar a { display: inline-block; padding: .3rem 0; text-decoration: none }
header.bar a[aria-current] { color: var(--ink); font-weight: 600; border-bottom: 2px solid var(--accepted) }
header.bar form, header.bar p { margin: 0 }
header.bar p { color: var(--soft); font-size: .87em }
:focus-visible, input:focus-within { outline: 2px solid var(--accepted); outline-offset: 2px }
.need { border-left: .3rem solid var(--rejected); padding: .1rem 0 .1rem 1rem; margin: 0 0 1.5rem }
.need h3 { margin: 0 0 .25rem }
.need p { margin: 0 0 .25rem; overflow-wrap: anywhere }
.need pre { margin-bottom: .5rem }
.acts { display: flex; flex-wrap: wrap; gap: .4rem .6rem; margin: 0 0 .75rem; padding: 0; list-style: none }
.act, button { display: inline-block; font: inherit; min-height: 2rem; padding: .25rem .8rem; border: 1px solid var(--accepted);
  border-radius: .3rem; background: var(--ground); color: var(--accepted); text-decoration: none; cursor: pointer }
.act:hover, button:hover { background: var(--tint) }
button.does { background: #0b62a4; border-color: #0b62a4; color: #fff; font-weight: 600 }
.plain { border-color: var(--soft); color: var(--ink) }
form { margin: 0 0 1.25rem }
label { display: block; margin: 0 0 .75rem; max-width: 34rem }
input { display: block; width: 100%; font: inherit; min-height: 2rem; padding: .3rem .5rem; border: 1px solid var(--soft);
  border-radius: .3rem; background: var(--ground); color: var(--ink) }
.notice p { margin: 0 }
.notice { border-top: 0; padding: .6rem 1rem; margin: 0 0 1.25rem; background: var(--tint); border-left: .3rem solid var(--accepted) }
.scroll { position: relative }
.nights { width: auto; border-collapse: separate; border-spacing: 2px }
.nights th, .nights td { padding: 0; border: 0; text-align: center }
.nights tbody tr + tr > * { border: 0 }
.nights thead th { font-size: .75em; min-width: 24px; border: 0 }
.nights tbody th { text-align: left; padding-right: .75rem; min-width: 0; white-space: nowrap; position: sticky; left: 0; background: var(--ground) }
.night { display: block; width: 24px; height: 24px; line-height: 22px; border: 1px solid var(--own, var(--line)); border-radius: .2rem;
  color: var(--ink); text-decoration: none; background: color-mix(in srgb, var(--own, transparent) 18%, transparent) }
.night.well { background: none }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: .5rem 0 0; padding: 0; font-size: .87em }
.under-way { --own: var(--unchanged) } .stopped { --own: var(--pending) } .failed { --own: var(--unaccounted) }
.ok { --own: var(--accepted) } .warning { --own: var(--rejected) } .problem { --own: var(--unaccounted) }
.level { white-space: nowrap; border-left: .3rem solid var(--own); padding-left: .5rem }
.log { max-height: none; font-size: .82em }
.strip { width: 100%; min-height: 1.5rem }
.head .what { display: none }
.head dl { display: flex; flex-wrap: wrap; gap: .75rem 2rem; margin: 0 0 1.25rem }
.checks th, .rows th { min-width: 0 }
.day { display: block; width: 24px; text-align: left; white-space: nowrap }
dl.facts dt { font-size: 1em }
select { display: block; width: 100%; font: inherit; min-height: 2rem; padding: .3rem .5rem; border: 1px solid var(--soft); border-radius: .3rem;
  background: var(--ground); color: var(--ink) }
input[type=checkbox] { display: inline-block; width: 1.2rem; min-height: 1.2rem; height: 1.2rem; margin: 0 0 0 .5rem; vertical-align: middle }
.options { max-width: 34rem }
.options summary { padding: .3rem 0; margin: 0 0 .75rem }
h3 span { color: var(--soft); font-weight: normal; font-size: .87em }
.inline { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: end }
.inline label { margin: 0; flex: 0 1 auto; max-width: 100% }
.ways { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .5rem 1rem; align-items: center; margin: 0 0 1rem }
.ways .acts { margin: 0 }
td .acts { margin: 0; flex-direction: column; gap: .25rem }
td .act { white-space: nowrap; font-size: .87em; min-height: 1.6rem; padding: .1rem .6rem }
.inline input, .inline select, .inline button { height: 2.25rem }
.months { display: flex; flex-wrap: wrap; gap: 1.25rem 2rem; align-items: start }
.month { width: auto; border-collapse: separate; border-spacing: 2px }
.month caption { text-align: left; font-weight: 600; padding: 0 0 .25rem }
.month th, .month td { padding: 0; border: 0; text-align: center; min-width: 0 }
.month tbody tr + tr > * { border: 0 }
.month abbr { text-decoration: none }
.month .night { width: 34px; height: 26px; line-height: 24px; font-size: .8em }
.bars { width: 100%; height: 120px }
.line { width: 120px; height: 20px }
.line polyline { fill: none; stroke: var(--mapped); stroke-width: 1.5 }
.line circle { fill: var(--mapped) }
.code { max-height: 40rem; overflow: auto; white-space: pre; font-size: .8em }
.added { background: color-mix(in srgb, var(--accepted) 22%, transparent) }
.removed { background: color-mix(in srgb, var(--rejected) 22%, transparent) }
.preview section { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 0 2rem }
.preview h2 { grid-column: 1 / -1 }
.preview dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1rem; margin: 0 0 .5rem }
.preview dt { font-size: 1em }
.preview td, .preview dd, .preview li { overflow-wrap: anywhere; white-space: pre-wrap; unicode-bidi: isolate }
.preview tbody th { min-width: 0 }
h1 span { color: var(--soft); font-weight: normal; font-size: .6em }
@media (max-width: 46rem) {
  .preview section { grid-template-columns: minmax(0, 1fr); gap: .75rem }
  .ways { grid-template-columns: minmax(0, 1fr); gap: .25rem }
  .blocks thead { display: none }
  .blocks tr, .blocks tr > * { display: block; padding: .1rem 0; border: 0; text-align: left }
  .blocks tr { padding: .6rem 0; border-top: 1px solid var(--line) }
  .blocks tr > [data-head] { padding-left: 6rem; text-indent: -6rem }
  .blocks tr > :empty { display: none }
  .blocks [data-head]::before { content: attr(data-head); display: inline-block; width: 6rem; text-indent: 0; color: var(--soft); font-size: 13px;
    font-weight: normal }
  .blocks .acts { display: inline-flex; text-indent: 0 }
  .short th, .short td { white-space: normal }
  td .acts { flex-direction: row }
  header.bar { gap: .25rem 1rem }
  .checks tr { grid-template-columns: max-content minmax(0, 1fr) }
  .checks td:nth-child(n + 3) { grid-column: 1 / -1 }
  .nights tbody th { max-width: 7.5rem; overflow: hidden; text-overflow: ellipsis }
}
@media print {
  header.bar, .acts, form, form.inline, .skip, .ways, .options { display: none }
  .numbers { display: block }
  .numbers::details-content { content-visibility: visible; display: block; height: auto }
  .numbers > summary { list-style: none }
  .log, .code { max-height: none; white-space: pre-wrap }
  article, tr { break-inside: avoid }
}
`
