/** A run of the clinic that leaves something behind: a record in doubt, rows and records rejected. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { type Fault, type FaultProxy, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { type Clinic, JOB, meetGateway, openClinic } from './clinic.ts'
import { Summary, summaryOf } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'
import { readReceipts } from './run-outputs.ts'

export interface FaultyClinic extends Clinic {
  readonly proxy: FaultProxy
  /** What befalls requests from now on. */
  strike(faultOf: (request: Passing) => Fault | Promise<Fault>): void
}

/** A clinic whose gateway can be made to fail. */
export async function openFaultyClinic(
  options: Parameters<typeof openClinic>[0] & { readonly patience?: string; readonly submit?: string } = {},
): Promise<FaultyClinic> {
  const store = await startReferenceStore({ open: true })
  let faultOf: (request: Passing) => Fault | Promise<Fault> = () => PASS
  const proxy = await startFaultProxy(store.url, (request) => faultOf(request))
  const clinic = await openClinic({
    ...options,
    store,
    job: `${options.job ?? JOB}submit: { readLag: 100ms, patience: ${options.patience ?? '30m'}, ${options.submit ?? ''} }\n`,
    environment: { ...gatewaySettings(proxy.url), ...options.environment },
  })
  await meetGateway(clinic.workplace)
  return {
    ...clinic,
    proxy,
    strike(next) {
      faultOf = next
    },
  }
}

/** The first batch is stored, or not, and never answered; profiles cannot be read: nobody can tell. */
export const unanswered =
  (what: 'pass-then-reset' | 'reset') =>
  ({ method }: Passing): Fault =>
    method === 'POST' ? { do: what } : { do: 'answer', status: 400 }

export const showOf = async ({ workplace }: Clinic, run: string): Promise<Shown> =>
  Shown.parse(JSON.parse((await workplace.waybill('show', run, '--json')).out))

const Shown = Summary.extend({
  origin: z.object({ run: z.string(), selection: z.string() }).optional(),
  settled: z.array(z.object({ run: z.string(), count: z.int() })).optional(),
  reasons: z.array(z.looseObject({ code: z.string(), outcome: z.string(), count: z.int() })),
})
type Shown = z.infer<typeof Shown>

/**
 * Each record that is stored has one receipt in the receipts of all runs, and each receipt is of what is stored, by its id.
 * @param learned how many were learned from what
 */
export async function expectReceipts(
  { workplace, store }: Clinic,
  learned: { readonly answer?: number; readonly 'read-back'?: number; readonly decision?: number },
): Promise<void> {
  const folder = join(workplace.home, 'receipts')
  const names = await readdir(folder)
  const receipts = (await Promise.all(names.map((name) => readReceipts(join(folder, name))))).flat()
  const stored = (await store.allRecords()).map(({ source }) => source.meta.persistentRecordId)
  expect(receipts.map(({ transactionId }) => transactionId).sort()).toEqual(stored.sort())
  expect(
    Object.fromEntries(
      [...Map.groupBy(receipts, ({ learnedFrom = 'answer' }) => learnedFrom)].map(([from, all]) => [
        from,
        all.length,
      ]),
    ),
  ).toEqual(learned)
}

/** A run all of whose records are in doubt. */
export async function runInDoubt(clinic: FaultyClinic, what: 'pass-then-reset' | 'reset'): Promise<Summary> {
  clinic.strike(unanswered(what))
  const summary = summaryOf(await clinic.run())
  clinic.strike(() => PASS)
  return summary
}

export const writeMapping = ({ workplace }: Clinic, mapping: string): Promise<void> =>
  writeFile(join(workplace.folder, 'mappings/clinic.yaml'), mapping)
