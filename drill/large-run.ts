/** A run of 100,000 records against a reference gateway in a process of its own: what the single figures are taken from. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type Ended,
  type GatewayProcess,
  type RunningWaybill,
  startGateway,
  startWaybill,
  WATCHED,
} from './processes.ts'
import { Summary } from './statements.ts'

const Counts = z.object({ biometric: z.int() })

export const ROWS = 20_000
/** Five measurements a row, each of a person of its own, so that nothing hides what a profile is to show. */
export const RECORDS = 5 * ROWS
export const personAt = (row: number): string => `LR${String(row).padStart(6, '0')}`

export interface LargeRun {
  readonly gateway: GatewayProcess
  start(): RunningWaybill
  run(): Promise<Summary>
  /** How many records are stored. */
  count(): Promise<number>
  /** The same, and of how many ids there is more than one. */
  stored(): Promise<{ records: number; doubled: number }>
  close(): Promise<void>
}

/** Milliseconds after which an answer is given up, so that what is never answered does not cost a minute. */
const ANSWER_WITHIN_MS = 5_000

/** @param faults of a fault plan */
export async function openLargeRun(faults: readonly Readonly<Record<string, unknown>>[]): Promise<LargeRun> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-large-'))
  await Promise.all(['inbox', 'jobs', 'mappings'].map((name) => mkdir(join(folder, name))))
  await symlink(join(import.meta.dirname, '../mappings/catalog'), join(folder, 'mappings/catalog'))
  await symlink(
    join(import.meta.dirname, 'mappings/drill-wide.yaml'),
    join(folder, 'mappings/drill-wide.yaml'),
  )
  await writeFile(join(folder, 'jobs/large.yaml'), JOB)
  await writeFile(join(folder, 'inbox/large.csv'), [...lines()].join(''))
  await writeFile(join(folder, 'faults.json'), JSON.stringify({ faults }))
  const plan = faults.length === 0 ? [] : ['--faults', join(folder, 'faults.json')]
  const gateway = await startGateway(folder, ['--open', '--data', join(folder, 'gateway.sqlite'), ...plan])
  const environment = {
    WAYBILL_HOME: join(folder, 'home'),
    WAYBILL_JOBS: join(folder, 'jobs'),
    WAYBILL_MAPPINGS: join(folder, 'mappings'),
    WAYBILL_GATEWAY_URL: gateway.url,
    WAYBILL_API_KEY: 'drill',
    WAYBILL_ACCESS_TOKEN: 'drill',
  }
  const watch = { haste: 1, answerWithin: ANSWER_WITHIN_MS, boot: 0 }
  const start = (): RunningWaybill =>
    startWaybill(folder, environment, WATCHED, watch, ['run', 'large', '--json'])
  const count = async (): Promise<number> => {
    const counts: unknown = await (await fetch(`${gateway.url}/_reference/counts`)).json()
    return Counts.parse(counts).biometric
  }
  return {
    gateway,
    start,
    run: async () => summaryOf(await start().ended),
    count,
    async stored() {
      const twice = await (await fetch(`${gateway.url}/_reference/occurrences?kind=biometric&min=2`)).text()
      return { records: await count(), doubled: twice.split('\n').length - 1 }
    },
    async close() {
      await gateway.stop()
      await rm(folder, { recursive: true })
    },
  }
}

const JOB = `job: large
exports: { from: ../inbox, match: "*.csv", mapping: drill-wide }
accounts: { register: never }
submit: { concurrency: 4, batch: { records: 500 } }
`

export function summaryOf({ code, out, err }: Ended): Summary {
  if (out === '') throw new Error(`waybill ended with ${code}: ${err}`)
  return Summary.parse(JSON.parse(out))
}

function* lines(): Generator<string> {
  yield 'person,visited,first,last,dob,sex,zip,no_show,sbp,dbp,pulse,a1c,weight_lb,dx_htn,dx_asthma,pcp_npi,pcp_name,pcp_phone,pcp_role\n'
  for (let row = 1; row <= ROWS; row++) {
    const systolic = 110 + (row % 60)
    const pressures = `${systolic},${55 + (row % 45)}`
    yield `${personAt(row)},02/04/2026 09:10,,,,,,N,${pressures},${50 + (row % 60)},5.${row % 10},${150 + (row % 80)},N,N,,,,\n`
  }
}
