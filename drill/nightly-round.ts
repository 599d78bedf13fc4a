/** A round of one job alone: night for night `waybill run`, killed and started again until it is done. */
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DrillExport } from './export-book.ts'
import { drillExports } from './exports.ts'
import type { Kill } from './kill-points.ts'
import type { Ended } from './processes.ts'
import type { Act } from './round.ts'
import { type Night, planRound, type RoundPlan } from './round-plan.ts'
import type { Ending, Scene } from './scene.ts'
import { Listed, type ListedRun, Refusal } from './statements.ts'
import { GATEWAY_FILE, wipeGateway } from './wipe-gateway.ts'
import { wordsOf } from './words-of-runs.ts'

/** More processes than this, and the job does not end by itself. */
const MOST_PROCESSES = 14

/** With a summary; an unexpected error ends with 1 too. */
export const DONE: ReadonlySet<number | null> = new Set([0, 1])
/** Stopped, to be resumed: the gateway refused the credentials or could not be reached; another one holds the job. */
export const RESUMABLE: ReadonlySet<number | null> = new Set([3, 5, 6])

const RUN = ['run', 'drill', '--json'] as const
const SECOND = 'second'

export function nightlyAct(seed: number, round: number): Act {
  const plan = planRound(seed, round)
  const exports = drillExports(seed, round, plan.exports)
  let elsewhere: string | undefined
  return {
    ...plan,
    exports,
    // Which of two jobs reads first, nobody knows.
    ordered: !plan.twoJobs,
    forgotten: plan.wipe !== undefined || plan.nights.some(({ ledger }) => ledger !== undefined),
    wiped: plan.wipe,
    async prepare(folder) {
      if (plan.archiveElsewhere) elsewhere = await mkdtemp(join(MEMORY, 'waybill-drill-'))
      const archive = plan.archive ? (elsewhere ?? '../done') : undefined
      for (const [job, inbox] of jobsOf(plan)) {
        await mkdir(join(folder, inbox))
        await writeFile(join(folder, `jobs/${job}.yaml`), jobText(plan, archive, job, inbox))
      }
    },
    async play(scene) {
      const { folder } = scene.stage
      let arrived = 0
      for (const [at, night] of plan.nights.entries()) {
        const inboxes = jobsOf(plan).map(([, inbox]) => inbox)
        const came = exports.slice(arrived, arrived + night.exports)
        for (const [nth, one] of came.entries())
          await deliver(join(folder, inboxes[nth % inboxes.length] ?? 'inbox'), one)
        arrived += night.exports
        if (plan.wipe !== undefined && at === plan.nights.length - 1)
          wipeGateway(join(folder, GATEWAY_FILE), plan.wipe)
        if (plan.meets !== undefined) await meetArchiving(scene, plan.meets, exports[arrived])
        await playNight(scene, plan, night)
        if (night.backup) await scene.start(['backup', join(folder, BACKUP)]).end()
        if (at === plan.nights.length - 1 && !plan.lasting) await scene.setFaults([], 0)
      }
      if (plan.wipe !== undefined) await settle(scene, plan, 'rerun')
      if (plan.settle !== undefined) await settle(scene, plan, plan.settle)
      if (plan.again || plan.wipe !== undefined) await untilAllDone(scene, plan, [])
      const runs = await runsOf(scene)
      if (elsewhere !== undefined) await rm(elsewhere, { recursive: true })
      return { runs, words: await wordsOf(runs), owesNothing: plan.owesNothing }
    },
  }
}

/** Jobs of the round by name, with the folder of each. */
export const jobsOf = ({ twoJobs }: RoundPlan): readonly (readonly [string, string])[] => [
  ['drill', 'inbox'],
  ...(twoJobs ? [[SECOND, 'inbox-second'] as const] : []),
]

const jobText = (
  { submit, changed, patience }: RoundPlan,
  archive: string | undefined,
  job: string,
  inbox: string,
): string => {
  const to = archive === undefined ? '' : `, archive: ${archive}`
  const waits = patience === undefined ? '' : `, patience: ${patience}`
  return `job: ${job}
exports:
  - { from: ../${inbox}, match: "*.csv", mapping: drill-wide${to} }
  - { from: ../${inbox}, match: "*.ndjson", mapping: drill-nested${to} }
careTeams: { changed: ${changed} }
submit: { concurrency: ${submit.concurrency}, batch: { records: ${submit.records} }${waits} }
`
}

/** Renamed to its name at once, as careful vendors do it. */
export async function deliver(inbox: string, { name, text }: DrillExport): Promise<void> {
  await writeFile(join(inbox, '../coming'), text)
  await rename(join(inbox, '../coming'), join(inbox, name))
}

/** The next export comes under the name of one that was read to its end, before that is archived or while the ledger does not know of it. */
async function meetArchiving(scene: Scene, halt: Kill, next: DrillExport | undefined): Promise<void> {
  const running = scene.start(RUN, { halt })
  await running.halted
  if (next !== undefined) await deliver(join(scene.stage.folder, 'inbox'), next)
  running.goOn()
  const ended = await running.end()
  if (ended !== undefined && !isDone(ended) && !RESUMABLE.has(ended.code)) throw unexpected(ended)
}

/** A file system beside that of temporary folders, on Linux. */
const MEMORY = '/dev/shm'

const BACKUP = 'backup.sqlite'

async function playNight(scene: Scene, plan: RoundPlan, { endings, ledger }: Night): Promise<void> {
  const [first, ...more] = endings
  const befall = async (): Promise<void> => {
    if (ledger?.to === 'other-key') {
      scene.key = 'another key that somebody has put here'
      return
    }
    for (const end of ['', '-wal', '-shm']) await rm(join(scene.home, `ledger.sqlite${end}`), { force: true })
    if (ledger?.to === 'restored')
      await copyFile(join(scene.stage.folder, BACKUP), join(scene.home, 'ledger.sqlite'))
  }
  if (ledger === undefined) return untilAllDone(scene, plan, endings)
  if (ledger.midway) await scene.start(RUN, { ending: first }).end()
  await befall()
  const goOn = WAYS_ON[ledger.to]
  // Where nothing was delivered yet, there is nothing to refuse.
  if (goOn !== undefined) {
    const refused = await scene.start(RUN).end()
    if (Refusal.safeParse(jsonOf(refused?.out ?? '')).data?.error.code !== goOn.code)
      scene.complaints.push(`a run is not refused with ${goOn.code}: ${refused?.out.slice(0, 300)}`)
  }
  const run = goOn === undefined ? RUN : ([...RUN, goOn.option] as const)
  await untilDone(scene, plan, ledger.midway ? more : endings, run)
}

/** Code of the refusal, and how somebody who knows says to go on. */
const WAYS_ON: Partial<Record<NonNullable<Night['ledger']>['to'], { code: string; option: string }>> = {
  lost: { code: 'ledger-missing', option: '--look-first' },
  'other-key': { code: 'key-differs', option: '--new-key' },
}

const jsonOf = (out: string): unknown => (out.startsWith('{') ? JSON.parse(out) : undefined)

/** All jobs of the round at the same time. */
async function untilAllDone(scene: Scene, plan: RoundPlan, endings: readonly Ending[]): Promise<void> {
  await Promise.all(jobsOf(plan).map(([job]) => untilDone(scene, plan, endings, ['run', job, '--json'])))
}

/** Kills as planned, then starts it again until it is done by itself. @throws Error where it never is */
async function untilDone(
  scene: Scene,
  { rival, lasting, looks, archive, restarts }: RoundPlan,
  endings: readonly Ending[],
  run: readonly string[] = RUN,
): Promise<void> {
  for (let nth = 0; nth < MOST_PROCESSES; nth++) {
    const ending = endings[nth]
    const running = scene.start(run, { ending })
    const beside = rival && ending === undefined ? scene.start(run) : undefined
    const ended = await running.end()
    await beside?.end()
    if (ended === undefined) {
      if (restarts) await scene.restartMachine()
      if (looks) await scene.lookAtUnfinished()
      continue
    }
    if (isDone(ended) || (archive && NOTHING_LEFT.test(ended.out))) return
    if (!RESUMABLE.has(ended.code)) throw unexpected(ended)
    if (ended.code === 3) await scene.lookAtUnfinished()
    if (lasting && ended.code === 3) throw new Error(`one person stops all: ${ended.err.slice(-500)}`)
  }
  throw new Error(`after ${MOST_PROCESSES} processes the job is not done`)
}

export const isDone = ({ code, out }: Ended): boolean => DONE.has(code) && out !== ''

/** There was nothing left that could be taken up. */
export const NOTHING_LEFT = /"(nothing-left|exports-none)"/

/** Answer to a rerun of an export that the next export of its name has replaced. */
const GONE = /"export-gone"/

async function settle(scene: Scene, { theme }: RoundPlan, by: 'reconcile' | 'rerun'): Promise<void> {
  const isOver = ({ out }: Ended): boolean =>
    NOTHING_LEFT.test(out) || (theme === 'same-name' && GONE.test(out))
  for (const { run, records } of (await runsOf(scene)).toReversed()) {
    if (Object.values(records).every(({ inDoubt, rejected }) => inDoubt + rejected === 0)) continue
    const ended = await scene.start([by, run, '--json']).end()
    if (ended !== undefined && !isDone(ended) && !isOver(ended)) throw unexpected(ended)
  }
}

export const unexpected = ({ code, signal, out, err }: Ended): Error =>
  new Error(`waybill ended with ${code ?? signal}: ${out.slice(0, 500)} ${err.slice(-2000)}`)

/** All that the ledger has, latest first. */
export async function runsOf(scene: Scene): Promise<ListedRun[]> {
  const ended = await scene.start(['runs', '--json', '--limit', '1000']).end()
  if (ended?.code === 2) return []
  if (ended?.code !== 0) throw new Error(`waybill runs ended with ${ended?.code}: ${ended?.err}`)
  return Listed.parse(JSON.parse(ended.out)).runs
}
