/** Work of a worker on a part of an export, by its ticket. The holder of the job has divided the export, and waits for the parts. */
import { readJob } from '../definitions/definition-files.ts'
import { chooseGateway } from '../definitions/jobs.ts'
import type { RunRequest, TicketEnd } from '../ledger/tickets.ts'
import { EXIT, endingOf } from '../model/errors.ts'
import { createArrival, spoolFolder } from '../run/arrival.ts'
import type { RunDependencies } from '../run/events.ts'
import { executePart } from '../run/execute.ts'
import { openBegun } from '../run/exports-of-run.ts'
import { holdJob } from '../run/lease.ts'
import type { Application } from './application.ts'
import type { BeginWatch } from './begin.ts'
import { openRunDependencies } from './connect-gateway.ts'

type PartRequest = Extract<RunRequest, { readonly what: 'part' }>

/**
 * Reads the part, unless it is settled. The owner of the run hears of the end by the ledger.
 * @throws WaybillError `job-held` while another worker reads the part; `export-changed`; `ledger-unusable`
 */
export async function readPart(
  application: Application,
  watch: BeginWatch,
  request: PartRequest,
): Promise<TicketEnd> {
  const job = await readJob(application.settings, request.job)
  const { close, ...deps } = await openRunDependencies(
    application,
    watch,
    chooseGateway(application.settings, job),
  )
  try {
    const error = await readHeld(deps, job, request)
    const { code, exit } = error === undefined ? { code: undefined, exit: EXIT.ok } : endingOf(error)
    return { run: request.run, exit, ...(code === undefined || code === 'unexpected' ? {} : { code }) }
  } finally {
    await close()
  }
}

async function readHeld(
  deps: RunDependencies,
  job: Awaited<ReturnType<typeof readJob>>,
  { run: id, exportRow, number }: PartRequest,
): Promise<unknown> {
  const { ledger, home } = deps
  const record = await ledger.exports.find(exportRow)
  const parts = await ledger.parts.ofExport(exportRow)
  if (record?.run_id !== id || record.state !== 'open' || parts[number]?.state !== 'open') return undefined
  const name = job.definition.job
  const jobId = await ledger.jobs.id(name, deps.gatewayName)
  const part = { exportRow, number, of: parts.length }
  const held = await holdJob(deps, { jobId, job: name, runId: id, givesWay: false, part })
  const signal = AbortSignal.any([deps.interrupt, held.lost, held.stopped])
  const arrival = createArrival(spoolFolder(home, jobId, 'ordinary', number), { ...deps.sources, signal })
  try {
    await arrival.clearUnpacked()
    const { step } = await openBegun(arrival, job.sources, ledger, record)
    const plan = { job, id, limit: Number.POSITIVE_INFINITY, part }
    deps.events.emit({ type: 'partStarted', run: id, job: name, part: `${number + 1} of ${part.of}` })
    const error = await executePart(plan, { ...deps, held, arrival }, step)
    deps.events.emit({ type: 'partEnded', code: error === undefined ? undefined : endingOf(error).code })
    return error
  } finally {
    await arrival.close(false)
    await held.release()
  }
}
