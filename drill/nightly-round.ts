/** A round of one job alone: `waybill run`, killed and started again until it is done. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { drillExports } from './exports.ts'
import type { Ended } from './processes.ts'
import type { Act } from './round.ts'
import { planRound } from './round-plan.ts'
import type { Ending, Scene } from './scene.ts'
import { type ExportSummary, readRejects, Summary } from './statements.ts'

/** More processes than this, and the job does not end by itself. */
const MOST_PROCESSES = 14

/** With a summary; an unexpected error ends with 1 too. */
export const DONE: ReadonlySet<number | null> = new Set([0, 1])
/** Stopped, to be resumed: the gateway refused the credentials or could not be reached; another one holds the job. */
export const RESUMABLE: ReadonlySet<number | null> = new Set([3, 5])

export function nightlyAct(seed: number, round: number): Act {
  const plan = planRound(seed, round)
  const exports = drillExports(seed, round, plan.exports)
  const { concurrency, records } = plan.submit
  return {
    ...plan,
    exports,
    async prepare(folder) {
      await mkdir(join(folder, 'inbox'))
      await writeFile(
        join(folder, 'jobs/drill.yaml'),
        `job: drill
exports:
  - { from: ../inbox, match: "*.csv", mapping: drill-wide }
  - { from: ../inbox, match: "*.ndjson", mapping: drill-nested }
submit: { concurrency: ${concurrency}, batch: { records: ${records} } }
`,
      )
      for (const { name, text } of exports) await writeFile(join(folder, 'inbox', name), text)
    },
    async play(scene) {
      let summary = await untilDone(scene, plan.endings, plan.rival)
      await scene.endFaults()
      if (plan.again) summary = await untilDone(scene, [], false)
      const last = [...(summary.resumed?.exports ?? []), ...summary.exports]
      const wordOf = async (one: ExportSummary) => ({ summary: one, rejects: await readRejects(one.rejects) })
      return { words: await Promise.all(last.map(wordOf)) }
    },
  }
}

/** Kills as planned, then starts it again until it is done by itself. @throws Error where it never is */
async function untilDone(scene: Scene, endings: readonly Ending[], rival: boolean): Promise<Summary> {
  const command = ['run', 'drill', '--json']
  for (let nth = 0; nth < MOST_PROCESSES; nth++) {
    const ending = endings[nth]
    const running = scene.start(command, { ending })
    const beside = rival && ending === undefined ? scene.start(command) : undefined
    const ended = await running.end()
    await beside?.end()
    if (ended === undefined) continue
    if (DONE.has(ended.code) && ended.out !== '') return summaryOf(ended)
    if (!RESUMABLE.has(ended.code)) throw unexpected(ended)
  }
  throw new Error(`after ${MOST_PROCESSES} processes the job is not done`)
}

export const unexpected = ({ code, signal, out, err }: Ended): Error =>
  new Error(`waybill ended with ${code ?? signal}: ${out.slice(0, 500)} ${err.slice(-2000)}`)

function summaryOf({ out, err }: Ended): Summary {
  const summary = Summary.parse(JSON.parse(out))
  for (const run of summary.resumed === undefined ? [summary] : [summary, summary.resumed]) {
    if (run.state !== 'finished' || !run.balanced)
      throw new Error(`the run ${run.run} is ${run.state}, balanced: ${run.balanced}; ${err.slice(-2000)}`)
  }
  return summary
}
