/** One round of the drill: jobs, a gateway that fails, processes that are killed, and the judgement at the end. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isBackfillRound } from './backfill-plan.ts'
import { backfillAct } from './backfill-round.ts'
import type { DrawnFault, Harm, Pace } from './draw-faults.ts'
import type { DrillExport } from './export-book.ts'
import { readStore } from './gateway-store.ts'
import type { KillPoint } from './kill-points.ts'
import { nightlyAct } from './nightly-round.ts'
import { startGateway } from './processes.ts'
import { createScene, type Scene, type Struck } from './scene.ts'
import { readReceipts } from './statements.ts'
import { type Evidence, judgeRound, type Verdict } from './verdict.ts'

/** What is played in a round. */
export interface Act {
  readonly faults: readonly DrawnFault[]
  readonly faultSeed: number
  readonly shipped: boolean
  readonly pace: Pace
  readonly exports: readonly DrillExport[]
  /** Writes jobs and exports. */
  prepare(folder: string): Promise<void>
  /** To the end: every run has come to its own. @throws Error where one does not */
  play(scene: Scene): Promise<Pick<Evidence, 'words' | 'givenUp'>>
}

export interface RoundEnd extends Verdict {
  readonly round: number
  readonly isBackfill: boolean
  /** Where its files are; gone where there is nothing to look for. */
  readonly folder: string
  readonly processes: number
  /** Kills that came about: by point, and `instant`. */
  readonly kills: Scene['kills']
  /** Points that were told of. */
  readonly passed: readonly KillPoint[]
  readonly struck: Struck
}

/** @param mappings a folder with the drill's mappings and the catalog */
export async function runRound(
  seed: number,
  round: number,
  folder: string,
  mappings: string,
): Promise<RoundEnd> {
  const isBackfill = isBackfillRound(round)
  const act = isBackfill ? backfillAct(seed, round) : nightlyAct(seed, round)
  const { exports, shipped, pace } = act
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'jobs'), { recursive: true })
  await act.prepare(folder)
  const faultPlan = { seed: act.faultSeed, faults: act.faults.map(({ fault }) => fault) }
  await writeFile(join(folder, 'faults.json'), JSON.stringify(faultPlan, undefined, 2))
  const data = join(folder, 'gateway.sqlite')
  const gateway = await startGateway(folder, [
    ...['--data', data],
    ...(act.faults.length === 0 ? [] : ['--faults', join(folder, 'faults.json')]),
  ])
  const scene = createScene({ folder, mappings, gateway, shipped, pace })
  const faults: string[] = []
  let said: Pick<Evidence, 'words' | 'givenUp'> = { words: [] }
  try {
    said = await act.play(scene)
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error))
  } finally {
    await gateway.stop()
  }
  const receipts = await readReceipts(scene.home)
  const harm = harmOf(act.faults)
  const verdict = judgeRound({ exports, stored: readStore(data), receipts, harm, ...said })
  faults.push(...verdict.faults)
  if (faults.length === 0) await rm(folder, { recursive: true })
  const { processes, kills, passed, struck } = scene
  return { ...verdict, faults, round, isBackfill, folder, processes, kills, passed, struck }
}

function harmOf(faults: readonly DrawnFault[]): Harm {
  const any = (key: keyof Harm): boolean => faults.some(({ harm }) => harm[key])
  return {
    refuses: any('refuses'),
    refusesPeople: any('refusesPeople'),
    hidesProfiles: any('hidesProfiles'),
    refusesMarks: any('refusesMarks'),
  }
}
