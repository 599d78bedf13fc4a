/**
 * A round with a backfill: over exports some of which a nightly run has delivered before, killed and typed again, with other commands
 * begun in the middle of it, until all that was begun is finished or given up.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type BackfillProcess,
  type BackfillRoundPlan,
  type Beside,
  planBackfillRound,
} from './backfill-plan.ts'
import { type DatedExport, datedExports, filesOf } from './dated-exports.ts'
import { DONE, RESUMABLE, runsOf, unexpected } from './nightly-round.ts'
import type { Ended } from './processes.ts'
import type { Act } from './round.ts'
import type { ProcessPlan, Scene, ScenePlayer } from './scene.ts'
import { Refusal } from './statements.ts'
import { givenUpIn, wordsOf } from './words-of-runs.ts'

/** More processes than this, and a command does not come to its end. */
const MOST_PROCESSES = 14
/** Milliseconds until one that was begun beside a backfill has come to where the two meet, at most. */
const MEETING_MS = 30_000
/** Milliseconds for which the backfill has to see one that is under way. */
const SEEING_MS = 150

const RUN = ['run', 'drill', '--json']
const OTHER = ['run', 'other', '--json']

export function backfillAct(seed: number, round: number): Act {
  const plan = planBackfillRound(seed, round)
  const exports = datedExports(seed, round, plan.exports)
  const all = [...exports.history, ...exports.nightly]
  const lateFiles = new Set(
    [...new Set(exports.history.map(({ file }) => file))].toReversed().slice(0, plan.late),
  )
  const early = exports.history.filter(({ file }) => !lateFiles.has(file))
  const late = exports.history.filter(({ file }) => lateFiles.has(file))
  const range = plan.apart ? exports.history : all
  const from = range.at(0)?.day ?? ''
  const to = range.at(-1)?.day ?? ''
  const place = plan.apart ? ['--in', 'history'] : []
  const rate = plan.rate === undefined ? [] : ['--rate', String(plan.rate)]
  const backfill = (first: string): string[] => [
    'backfill',
    'drill',
    '--from',
    first,
    '--to',
    to,
    ...place,
    ...rate,
    '--json',
  ]
  return {
    ...plan,
    exports: [...all, ...exports.other],
    theme: 'backfill',
    registeredAgain: 'same',
    changed: 'add',
    ordered: false,
    isDated: true,
    forgotten: false,
    async prepare(folder) {
      await writeJobs(folder, plan)
      for (const name of ['inbox', 'other', 'history']) await mkdir(join(folder, name))
      await writeExports(join(folder, 'inbox'), exports.nightly)
      await writeExports(join(folder, 'other'), exports.other)
      if (plan.apart) await writeExports(join(folder, 'history'), early)
    },
    async play(scene) {
      for (const ending of plan.before) await playOnce(scene, RUN, { ending })
      const folder = join(scene.stage.folder, plan.apart ? 'history' : 'inbox')
      if (!plan.apart) await writeExports(folder, early)
      if (plan.mistake !== undefined) {
        // Of the same exports: that it begins a day earlier makes it another range.
        await playOnce(scene, backfill('2026-02-28'), { ending: plan.mistake.ending })
        await giveUp(scene, plan.mistake.givingUp)
      }
      for (const [at, one] of plan.processes.entries()) {
        await playBeside(scene, backfill(from), one)
        if (one.after === 'run') await playOnce(scene, RUN, {})
        if (one.after === 'reconcile') await reconcile(scene)
        if (one.after === 'give-up') await giveUp(scene, undefined)
        if (one.after === 'history-away')
          await whileAway(folder, exports.history, () => inVain(scene, backfill(from)))
        if (at === 0) await writeExports(folder, late)
      }
      for (const command of [backfill(from), RUN, OTHER]) await untilDone(scene, command)
      await scene.setFaults([], 0)
      if (plan.rerun) await rerunAll(scene)
      const runs = await runsOf(scene)
      return { runs, words: await wordsOf(runs), givenUp: givenUpIn(runs) }
    },
  }
}

async function writeJobs(folder: string, { submit, archive }: BackfillRoundPlan): Promise<void> {
  const sending = `submit: { concurrency: ${submit.concurrency}, batch: { records: ${submit.records} } }\n`
  const more = archive ? ', archive: ../done' : ''
  await writeFile(
    join(folder, 'jobs/drill.yaml'),
    `job: drill
exports:
  - { from: ../inbox, match: "wide_{date:yyyyMMdd}_*.csv*", mapping: drill-wide${more} }
  - { from: ../inbox, match: "lab_{date:yyyyMMdd}_*.ndjson*", mapping: drill-nested${more} }
  - { from: ../inbox, match: "pack_{date:yyyyMMdd}_*.zip", members: "*.csv", mapping: drill-wide${more} }
${sending}`,
  )
  await writeFile(
    join(folder, 'jobs/other.yaml'),
    `job: other
exports: { from: ../other, match: "order_{date:yyyyMMdd}.ndjson", mapping: drill-nested }
${sending}`,
  )
}

async function writeExports(folder: string, exports: readonly DatedExport[]): Promise<void> {
  for (const [file, bytes] of await filesOf(exports)) await writeFile(join(folder, file), bytes)
}

/** One process, whatever it comes to. @throws Error where it ends as none may */
async function playOnce(scene: Scene, command: readonly string[], plan: ProcessPlan): Promise<void> {
  const ended = await scene.start(command, plan).end()
  if (ended !== undefined) assertAllowed(ended)
}

/** A backfill, and what is begun once it has come to its nth chunk. */
async function playBeside(
  scene: Scene,
  command: readonly string[],
  { ending, beside, nth }: BackfillProcess,
): Promise<void> {
  const origin = beside.some((one) => one.command === 'rerun') ? (await runsOf(scene)).at(-1)?.run : undefined
  const halt = beside.length === 0 ? undefined : ({ point: 'before-chunk', nth } as const)
  const backfill = scene.start(command, { ending, halt })
  const others: ScenePlayer[] = []
  if (beside.length > 0) {
    await (scene.stage.shipped ? delay(nth * 500) : backfill.halted)
    for (const one of beside) others.push(scene.start(commandOf(one, command, origin), planOf(one)))
    await Promise.race([Promise.all(others.map(({ halted }) => halted)), delay(MEETING_MS)])
    backfill.goOn()
    await delay(SEEING_MS)
    for (const { goOn } of others) goOn()
  }
  for (const player of [backfill, ...others]) {
    const ended = await player.end()
    if (ended !== undefined) assertAllowed(ended)
  }
}

/** Of the latest run that is not over; else of the latest. */
async function reconcile(scene: Scene): Promise<void> {
  const runs = await runsOf(scene)
  const { run } = runs.find((one) => !isOver(one)) ?? runs.at(0) ?? {}
  if (run !== undefined) await playOnce(scene, ['reconcile', run, '--json'], {})
}

/** What an archive has taken meanwhile is not moved. */
async function whileAway(
  folder: string,
  exports: readonly DatedExport[],
  work: () => Promise<void>,
): Promise<void> {
  const away = join(folder, '../away')
  await mkdir(away, { recursive: true })
  const moved: string[] = []
  for (const file of new Set(exports.map((one) => one.file))) {
    const isThere = await rename(join(folder, file), join(away, file)).then(
      () => true,
      () => false,
    )
    if (isThere) moved.push(file)
  }
  await work()
  for (const file of moved) await rename(join(away, file), join(folder, file))
}

/** They do what can be done, and say what is missing. */
async function inVain(scene: Scene, backfill: readonly string[]): Promise<void> {
  for (const command of [RUN, backfill]) {
    const ended = await scene.start(command).end()
    if (ended !== undefined && ended.code !== 2) assertAllowed(ended)
  }
}

function commandOf(
  { command }: Beside,
  backfill: readonly string[],
  origin: string | undefined,
): readonly string[] {
  if (command === 'backfill') return backfill
  if (command === 'other') return OTHER
  return command === 'rerun' && origin !== undefined ? ['rerun', origin, '--json'] : RUN
}

/** Where it is met: a run of the same job asks for it, one of another job is at its work. */
function planOf({ command, ending }: Beside): ProcessPlan {
  if (command === 'backfill') return { ending }
  return { ending, halt: { point: command === 'other' ? 'before-chunk' : 'after-ask', nth: 1 } }
}

/** There is none to run any more, as all is archived; or nothing that could be taken up or given up. */
const NOTHING_TO_DO: ReadonlySet<string> = new Set(['exports-none', 'nothing-left', 'run-unfinished'])

function assertAllowed(ended: Ended): void {
  const { code, out } = ended
  if ((DONE.has(code) && out !== '') || RESUMABLE.has(code)) return
  if (code !== 2 || !NOTHING_TO_DO.has(Refusal.safeParse(jsonOf(out)).data?.error.code ?? ''))
    throw unexpected(ended)
}

function jsonOf(out: string): unknown {
  return out === '' ? undefined : JSON.parse(out)
}

/** @throws Error where it does not come to its end */
async function untilDone(scene: Scene, command: readonly string[]): Promise<void> {
  for (let nth = 0; nth < MOST_PROCESSES; nth++) {
    const ended = await scene.start(command).end()
    if (ended === undefined) continue
    assertAllowed(ended)
    if (!RESUMABLE.has(ended.code)) return
  }
  throw new Error(`after ${MOST_PROCESSES} processes ${command.join(' ')} is not done`)
}

const isOver = ({ state }: { readonly state: string }): boolean => state === 'finished' || state === 'failed'

/** Gives up the latest run that is not over. */
async function giveUp(scene: Scene, killed: BackfillProcess['ending']): Promise<void> {
  const latest = (await runsOf(scene)).find((run) => !isOver(run))
  if (latest === undefined) return
  const command = ['resolve', latest.run, '--give-up', '--json']
  await playOnce(scene, command, { ending: killed })
  await untilDone(scene, command)
}

async function rerunAll(scene: Scene): Promise<void> {
  for (const { run, origin, rows, records, state } of (await runsOf(scene)).toReversed()) {
    const left = Object.values(records).some(({ rejected, inDoubt }) => rejected + inDoubt > 0)
    if (origin === undefined && state === 'finished' && (left || rows.rejected > 0))
      await untilDone(scene, ['rerun', run, '--json'])
  }
}
