/**
 * The drill: `node drill/main.ts [--rounds N] [--seed S] [--seconds T] [--round N,…] [--only KIND] [--workers N [--parts N]]` (docs/drill.md). Real processes of Waybill are
 * killed over and over against a reference gateway that fails, and in the end what it holds is compared with what must be there.
 * Exit code 1 where anything was lost, doubled, altered or not accounted for.
 */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pLimit from 'p-limit'
import { z } from 'zod'
import { isBackfillRound } from './backfill-plan.ts'
import { bundle } from './bundle.ts'
import { openDatabase } from './database.ts'
import { FAULT_KINDS } from './draw-faults.ts'
import { KILL_POINTS, type KillPoint } from './kill-points.ts'
import { isOtherJobsRound } from './other-jobs.ts'
import { runOtherJobs } from './other-jobs-round.ts'
import { WATCHED } from './processes.ts'
import { type RoundEnd, runRound } from './round.ts'
import { THEMES, themeOf } from './round-plan.ts'
import { WRONGS } from './verdict.ts'
import { workersAct } from './workers-round.ts'

const Options = z.strictObject({
  rounds: z.coerce.number().int().min(1).default(500),
  seed: z.coerce.number().int().default(1),
  /** No round is begun after so many seconds. */
  seconds: z.coerce.number().min(1).default(Number.POSITIVE_INFINITY),
  /** These rounds alone: 17, or 3,20. */
  round: z.coerce
    .string()
    .regex(/^[1-9]\d*(,[1-9]\d*)*$/)
    .transform((numbers) => numbers.split(',').map(Number))
    .optional(),
  /** Rounds of this kind alone. */
  only: z
    .string()
    .pipe(z.enum([...THEMES, 'backfill', 'other-jobs']))
    .optional(),
  /** Rounds with so many workers over one ledger in PostgreSQL. */
  workers: z.coerce.number().int().min(1).optional(),
  /** Parts of each export in rounds with workers. */
  parts: z.coerce.number().int().min(1).max(16).default(1),
})
export type DrillOptions = z.input<typeof Options>

export interface DrillEnd {
  readonly rounds: number
  readonly failed: readonly RoundEnd[]
  /** Kinds of fault, and how often each struck. */
  readonly faults: ReadonlyMap<string, number>
  /** Points, and how many processes were killed there. */
  readonly kills: ReadonlyMap<string, number>
  /** Kinds of round, and how many of each were played. */
  readonly kinds: ReadonlyMap<string, number>
  /** Of backfill rounds: how many, and how often a backfill waited for another job, or let a run of its own go first. */
  readonly backfills: Readonly<Record<'rounds' | 'waited' | 'gaveWay', number>>
  readonly totals: Readonly<Record<keyof RoundEnd['counts'] | 'processes', number>>
  /** Of rounds with workers: milliseconds of timed takeovers, and waits that the gateway has asked for. */
  readonly takeovers: readonly number[]
  readonly holds: number
}

/** A round waits for most of its time: for answers that hang, and for what is held. */
const ROUNDS_AT_ONCE = 10
/** Each with its workers. */
const WORKERS_ROUNDS_AT_ONCE = 3

/** @param say told of each round that failed */
export async function drill(options: DrillOptions, say: (text: string) => void): Promise<DrillEnd> {
  const { rounds, seed, seconds, round, only, workers, parts } = Options.parse(options)
  const root = await mkdtemp(join(tmpdir(), 'waybill-drill-'))
  const mappings = join(root, 'mappings')
  await cp(join(import.meta.dirname, 'mappings'), mappings, { recursive: true })
  await cp(join(import.meta.dirname, '../mappings/catalog'), join(mappings, 'catalog'), { recursive: true })
  const { folder: bundled, program } = await bundle(WATCHED)
  const endsAt = performance.now() + seconds * 1000
  const numbers = round ?? numbersOf(rounds, only)
  const database = workers === undefined ? undefined : await openDatabase()
  const withWorkers = async (number: number, folder: string): Promise<RoundEnd> =>
    runRound(seed, number, folder, mappings, program, {
      act: workersAct(seed, number, workers ?? 0, parts),
      environment: {
        WAYBILL_LEDGER: (await database?.schema(`round_${number}`)) ?? '',
        WAYBILL_RUN_BY: 'workers',
      },
    })
  const ofWorkers = workers === undefined ? '' : ` --workers ${workers} --parts ${parts}`
  const atOnce = workers === undefined ? ROUNDS_AT_ONCE : WORKERS_ROUNDS_AT_ONCE
  const ends = await pLimit(atOnce).map(numbers, async (number) => {
    if (performance.now() > endsAt) return undefined
    const folder = join(root, `round-${number}`)
    const play = isOtherJobsRound(number) ? runOtherJobs : runRound
    const end =
      workers === undefined
        ? await play(seed, number, folder, mappings, program)
        : await withWorkers(number, folder)
    if (end.faults.length > 0) say(failureText(`${ofWorkers} --seed ${seed}`, end))
    return end
  })
  if (database !== undefined) say(`The database was stopped ${database.stops()} times.\n`)
  await database?.close()
  await rm(bundled, { recursive: true })
  const folders = await readdir(root)
  if (folders.every((name) => name === 'mappings')) await rm(root, { recursive: true })
  return sumUp(ends.filter((end) => end !== undefined))
}

const kindOf = (round: number): string =>
  isBackfillRound(round) ? 'backfill' : isOtherJobsRound(round) ? 'other-jobs' : themeOf(round)

/** The first so many rounds, or those of a kind. */
function numbersOf(rounds: number, only: string | undefined): number[] {
  const numbers: number[] = []
  for (let round = 1; numbers.length < rounds; round++)
    if (only === undefined || kindOf(round) === only) numbers.push(round)
  return numbers
}

function sumUp(ends: readonly RoundEnd[]): DrillEnd {
  const faults = new Map<string, number>(FAULT_KINDS.map((kind) => [kind, 0]))
  const kills = new Map<string, number>([...KILL_POINTS, 'instant', 'request'].map((point) => [point, 0]))
  const totals = {
    ...{ expected: 0, stored: 0, refused: 0, inDoubt: 0, processes: 0 },
    ...{ lost: 0, doubled: 0, altered: 0, marks: 0, words: 0, stuck: 0 },
  }
  const passings = (point: KillPoint): number =>
    ends.reduce((sum, { passed }) => sum + passed.filter((one) => one === point).length, 0)
  const kinds = new Map<string, number>()
  for (const { theme } of ends) kinds.set(theme, (kinds.get(theme) ?? 0) + 1)
  const backfills = {
    rounds: kinds.get('backfill') ?? 0,
    waited: ends.filter(({ passed }) => passed.includes('while-waiting')).length,
    gaveWay: passings('before-giving-way'),
  }
  for (const { counts, processes, struck, kills: came } of ends) {
    for (const { kind, times } of struck) faults.set(kind, (faults.get(kind) ?? 0) + times)
    for (const point of came) kills.set(point, (kills.get(point) ?? 0) + 1)
    totals.processes += processes
    for (const key of Object.keys(counts) as (keyof typeof counts)[]) totals[key] += counts[key]
  }
  return {
    rounds: ends.length,
    failed: ends.filter((end) => end.faults.length > 0),
    faults,
    kills,
    kinds,
    backfills,
    totals,
    takeovers: ends.flatMap((end) => end.takeovers ?? []),
    holds: ends.reduce((sum, end) => sum + (end.holds ?? 0), 0),
  }
}

const SHOWN = 10

function failureText(options: string, { round, theme, folder, faults }: RoundEnd): string {
  const more = faults.length > SHOWN ? `  … and ${faults.length - SHOWN} more\n` : ''
  const words = faults.slice(0, SHOWN).map((fault) => `  ${fault}\n`)
  return `Round ${round} (${theme}) failed; its files: ${folder}\n${words.join('')}${more}  Again: node drill/main.ts${options} --round ${round}\n`
}

function endText(
  seed: number,
  { rounds, failed, faults, kills, kinds, backfills, totals, takeovers, holds }: DrillEnd,
): string {
  const table = (counts: ReadonlyMap<string, number>): string =>
    [...counts].map(([name, times]) => `  ${name.padEnd(24)} ${times}\n`).join('')
  const { expected, stored, refused, inDoubt, processes } = totals
  const wrong = WRONGS.map((one) => `${totals[one]} ${WRONG_WORDS[one]}`)
  return (
    `Faults that struck:\n${table(faults)}Processes killed, by where:\n${table(kills)}Rounds, by what they are about:\n${table(kinds)}` +
    `Seed ${seed}: ${rounds} rounds, ${processes} processes, ${failed.length} rounds failed.\n` +
    (takeovers.length + holds === 0
      ? ''
      : `Workers: ${takeovers.length} takeovers timed, the longest ${(Math.max(0, ...takeovers) / 1_000).toFixed(1)} s; ${holds} waits asked for by the gateway.\n`) +
    `Backfills: ${backfills.rounds} rounds; in ${backfills.waited} one waited for another job, ${backfills.gaveWay} times one let a run of its own job go first.\n` +
    `Records: ${expected} expected, ${stored} stored; ${refused} refused by the gateway, ${inDoubt} in doubt where it cannot tell.\n` +
    `${wrong.join(', ')}.\n`
  )
}

const WRONG_WORDS = {
  ...{ lost: 'lost', doubled: 'doubled', altered: 'altered' },
  ...{ marks: 'marks wrong', words: 'words wrong', stuck: 'rounds stuck' },
} as const

/** From so many rounds on, what never came about is a fault of the drill. */
const ROUNDS_FOR_ALL = 300

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      seed: { type: 'string' },
      seconds: { type: 'string' },
      round: { type: 'string' },
      only: { type: 'string' },
      workers: { type: 'string' },
      parts: { type: 'string' },
    },
  })
  const end = await drill(values, (text) => process.stdout.write(text))
  process.stdout.write(endText(Options.parse(values).seed, end))
  const missing = [...end.faults, ...end.kills, ...Object.entries(end.backfills)]
    .filter(([, times]) => times === 0)
    .map(([name]) => name)
  const incomplete = values.workers === undefined && end.rounds >= ROUNDS_FOR_ALL && missing.length > 0
  if (incomplete) process.stdout.write(`Never came about: ${missing.join(', ')}\n`)
  if (end.failed.length > 0 || incomplete) process.exitCode = 1
}
