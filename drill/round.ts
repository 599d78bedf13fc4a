/** One round of the drill: jobs, a gateway that fails, processes that are killed, and the judgement at the end. */
import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startReferenceGateway } from '../packages/reference-gateway/src/server.ts'
import { isBackfillRound } from './backfill-plan.ts'
import { backfillAct } from './backfill-round.ts'
import type { DrawnFault, Pace } from './draw-faults.ts'
import { countAccounts, readStore } from './gateway-store.ts'
import type { KillPoint } from './kill-points.ts'
import { nightlyAct } from './nightly-round.ts'
import { createScene, type Scene, type Struck } from './scene.ts'
import { readReceipts } from './statements.ts'
import { type Evidence, judgeRound, type Verdict } from './verdict.ts'
import { GATEWAY_FILE } from './wipe-gateway.ts'

/** What is played in a round. */
export interface Act
  extends Pick<Evidence, 'exports' | 'ordered' | 'isDated' | 'changed' | 'forgotten' | 'wiped'> {
  readonly theme: string
  readonly faults: readonly DrawnFault[]
  readonly faultSeed: number
  readonly shipped: boolean
  readonly pace: Pace
  readonly submit: { readonly concurrency: number }
  /** What the gateway answers to a registration of a person whom it knows. */
  readonly registeredAgain: 'same' | 'conflict'
  /** Writes jobs and exports. */
  prepare(folder: string): Promise<void>
  /** To the end: every run has come to its own. @throws Error where one does not */
  play(scene: Scene): Promise<Said>
}

/** What Waybill says in the end. */
export type Said = Pick<Evidence, 'words' | 'givenUp' | 'runs' | 'owesNothing' | 'settled'>

export interface RoundEnd extends Verdict {
  readonly round: number
  readonly theme: string
  /** Where its files are; gone where there is nothing to look for. */
  readonly folder: string
  readonly processes: number
  /** Kills that came about: by point, and `instant`. */
  readonly kills: Scene['kills']
  /** Points that were told of. */
  readonly passed: readonly KillPoint[]
  readonly struck: Struck
  readonly takeovers?: readonly number[]
  readonly holds?: number
}

/** What a round has beside its number. */
interface RoundParts {
  /** Default: of the number. */
  readonly act?: Act
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * @param mappings a folder with the drill's mappings and the catalog
 * @param watched the file of the watched program
 */
export async function runRound(
  seed: number,
  round: number,
  folder: string,
  mappings: string,
  watched: string,
  { act = actOf(seed, round), environment }: RoundParts = {},
): Promise<RoundEnd> {
  const {
    exports,
    ordered,
    isDated,
    changed,
    forgotten,
    wiped,
    shipped,
    pace,
    faultSeed,
    registeredAgain,
    theme,
  } = act
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'jobs'), { recursive: true })
  await act.prepare(folder)
  await writeFile(join(folder, 'faults.json'), JSON.stringify(act.faults, undefined, 2))
  const data = join(folder, GATEWAY_FILE)
  const gateway = await startReferenceGateway({
    ...{ dataFile: data, registeredAgain },
    ...{ clock: Date.now, makeId: randomUUID },
  })
  const scene = createScene({ folder, mappings, gateway, watched, shipped, pace, environment })
  let stuck: string | undefined
  let said: Said = { words: [], runs: [] }
  try {
    await scene.setFaults(act.faults, faultSeed)
    said = await act.play(scene)
    await scene.setFaults([], 0)
    await scene.searchHome()
  } catch (error) {
    stuck = error instanceof Error ? error.message : String(error)
  } finally {
    await gateway.close()
  }
  const { complaints, lastExit, processes, kills, passed, struck, requests, reads, takeovers, holds } = scene
  const underWay = 2 * act.submit.concurrency * kills.length
  const verdict = judgeRound({
    ...{
      exports,
      ordered,
      ...(isDated === undefined ? {} : { isDated }),
      changed,
      forgotten,
      wiped,
      complaints,
      faults: act.faults,
      restarted: scene.boot > 0,
    },
    stored: readStore(data),
    receipts: await readReceipts(scene.home),
    log: { accounts: countAccounts(data), requests: requests - reads, underWay },
    ...(stuck === undefined ? {} : { stuck }),
    green: lastExit === 0,
    ...said,
  })
  if (verdict.faults.length === 0) await rm(folder, { recursive: true })
  return { ...verdict, round, theme, folder, processes, kills, passed, struck, takeovers, holds }
}

const actOf = (seed: number, round: number): Act =>
  isBackfillRound(round) ? backfillAct(seed, round) : nightlyAct(seed, round)
