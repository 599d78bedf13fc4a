/** `waybill needs`: the list of needs, with the commands that end each. */
import type { AsideExport } from '../ledger/ledger.ts'
import { EXIT } from '../model/errors.ts'
import type { Need } from '../needs/need.ts'
import { needsJson, readNeeds } from '../runs/needs.ts'
import { readAside } from '../runs/put-aside.ts'
import { stepLines } from '../story/next-steps.ts'
import { counted, type Line, shellWord, utcTime } from '../system/shown-text.ts'
import { ageText, folded } from '../system/text-table.ts'
import type { Action } from './commands.ts'

export const needs: Action<'needs'> = async (context, { job, json, exitCode }) => {
  const all = await readNeeds(context, job)
  const aside = await readAside(context, job)
  if (json) context.out(JSON.stringify(needsJson(all, aside)))
  else context.out([...needsText(all, context.now(), context.columns), ...aside.map(asideLine)])
  return exitCode === true && all.length > 0 ? EXIT.recordsLeftBehind : EXIT.ok
}

const asideLine = ({ export: name, job, by, note, at }: AsideExport): string =>
  `Put aside: ${name} of ${job}, by ${by} on ${utcTime(at)} UTC (${note}). To read the file again: waybill put-aside ${shellWord(name)} --job ${shellWord(job)} --undo`

function needsText(all: readonly Need[], now: number, columns: number | undefined): Line[] {
  if (all.length === 0) return ['Nothing needs somebody.']
  const head = `${counted(all.length, 'need')}, oldest first:`
  return [head, ...all.flatMap((need) => ['', ...folded(needLines(need, now), columns, HANG)])]
}

const HANG = 4

function needLines({ what, since, steps }: Need, now: number): string[] {
  const at = since === undefined ? [] : [`  Since ${utcTime(since)} UTC (${ageText(now - since)})`]
  return [`${what}.`, ...at, ...stepLines(steps)]
}
