/** Workers of a ledger in PostgreSQL, and a run of many requests that they carry out. */
import { onTestFinished } from 'vitest'
import { generateSamples } from '../../samples/generate.ts'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { emptySchema } from '../postgres/server.ts'
import { createWorkplace, ended, type Workplace } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

const BIOMETRICS = 'POST /health-profile/biometrics/bulk'

export function startWorker({ start }: Workplace, ...options: string[]) {
  const worker = start('worker', ...options)
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  return { worker, over }
}

/** Starts a run, and the first worker. @param job further lines of the job */
export async function runOnWorkers(job: string) {
  const WAYBILL_LEDGER = await emptySchema()
  const store = await startReferenceStore()
  let requests = 0
  let changed = Promise.withResolvers<void>()
  const proxy = await startFaultProxy(store.url, ({ method, path }) => {
    if (`${method} ${path}` === BIOMETRICS) requests += 1
    changed.resolve()
    changed = Promise.withResolvers()
    return PASS
  })
  const workplace = await createWorkplace({
    ...gatewaySettings(proxy.url),
    WAYBILL_LEDGER,
    WAYBILL_RUN_BY: 'workers',
  })
  await generateSamples({ out: workplace.folder, participants: 200, messages: 0 })
  await workplace.job('screening', `exports: { from: .., match: "acme_*.csv", mapping: acme-onsite }\n${job}`)
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await changed.promise
  }
  const first = startWorker(workplace)
  const asked = ended(workplace.start('run', 'screening', '--json'))
  return { WAYBILL_LEDGER, store, workplace, first, asked, until, requests: () => requests }
}
