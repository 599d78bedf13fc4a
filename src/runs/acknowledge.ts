/** A person says of what runs have left behind that it stays as it is: then it needs nobody any more. */
import type { Acknowledgement, Ledger } from '../ledger/ledger.ts'
import { allRecords } from '../model/balance.ts'
import { WaybillError } from '../model/errors.ts'
import { summarise } from '../run/summary.ts'
import { nameRun } from './amend-run.ts'
import { type Application, withKnownLedger } from './application.ts'
import type { Person } from './resolve.ts'

/** A run, all that is left for a reason, or both: what the run has left for it. */
export interface Acknowledging {
  readonly run?: string | undefined
  /** A code of docs/reasons.md, or of what was wrong with an export or a run. */
  readonly reason?: string | undefined
  /** Takes back what was acknowledged. */
  readonly undo?: boolean
}

export interface Acknowledged {
  readonly runs: readonly string[]
  /** Runs that need somebody still. */
  readonly left: number
  /** Records of these runs that are in doubt: those must be decided on. */
  readonly inDoubt: number
}

/** @throws WaybillError `usage-wrong`, `run-not-found`, `run-unfinished`, `nothing-left` */
export const acknowledge = (
  application: Application,
  which: Acknowledging,
  person: Person,
): Promise<Acknowledged> =>
  withKnownLedger(application, async (ledger) => {
    if (which.run === undefined && which.reason === undefined)
      throw new WaybillError('usage-wrong', 'name a run, or a reason with --reason', {
        remedy: 'Look for them with `waybill runs --failed`, then type `waybill acknowledge RUN`.',
      })
    const run = which.run === undefined ? undefined : (await nameRun(ledger, which.run)).id
    const code = which.reason ?? null
    const decided = { ...person, at: application.now() }
    const runs =
      which.undo === true
        ? await ledger.acknowledgements.undo({ run, code: which.reason }, decided)
        : await add(ledger, run, { ...decided, code })
    if (runs.length === 0)
      throw new WaybillError(
        'nothing-left',
        `there is nothing to ${which.undo ? 'undo' : 'acknowledge'}${ofWhat(which)}`,
        {
          remedy:
            'See what needs somebody with `waybill runs --failed`, and what was decided with `waybill show RUN`.',
        },
      )
    let inDoubt = 0
    for (const id of runs)
      inDoubt += allRecords(await summarise(ledger, application.settings.home, id)).inDoubt
    return { runs, left: await ledger.countRuns({ failed: true }), inDoubt }
  })

const ofWhat = ({ run, reason }: Acknowledging): string =>
  `${reason === undefined ? '' : ` for the reason ${reason}`}${run === undefined ? '' : ` of run ${run}`}`

async function add(
  ledger: Ledger,
  run: string | undefined,
  acknowledgement: Omit<Acknowledgement, 'run'>,
): Promise<readonly string[]> {
  const reason = acknowledgement.code ?? undefined
  const among = run === undefined ? undefined : [run]
  const found = await ledger.runs(Number.MAX_SAFE_INTEGER, { failed: true, reason, among })
  const unfinished = found.find(({ state }) => state === 'running' || state === 'interrupted')
  if (run !== undefined && unfinished !== undefined)
    throw new WaybillError('run-unfinished', `run ${run} is not finished: it goes on`, {
      remedy: `Finish it with \`waybill run ${unfinished.job}\`, or end it: waybill resolve ${run} --give-up`,
    })
  const over = found.filter(({ state }) => state === 'finished' || state === 'failed')
  const runs = over.map(({ id }) => id)
  await ledger.acknowledgements.add(runs, acknowledgement)
  return runs
}
