/** A small job of its own for the command line: an inbox, a mapping, a gateway that takes records of anybody. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { startFaultProxy } from '../faults/fault-proxy.ts'
import { createWorkplace, PROJECT, type Summary, type Workplace } from './command-line.ts'
import { gatewaySettings, type ReferenceStore, startReferenceStore } from './reference-store.ts'
import { readRejects } from './run-outputs.ts'

const ROW_BLOCK = (key: (name: string) => string): string => `
row:
  key: ["${key('id')}", "${key('day')}"]
  account: { reference: "${key('id')}", type: partnerAccountId }
  observedAt: { from: "${key('day')}", format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics:
  heart-rate: "${key('pulse')}"
  hba1c: "${key('a1c')}"
  body-weight: { from: "${key('weight')}", unit: { from: "${key('unit')}" } }
`
export const CLINIC = `mapping: clinic\nread: { format: csv }${ROW_BLOCK((name) => name)}`
const CLINIC_JSON = `mapping: clinic-json\nread: { format: ndjson }${ROW_BLOCK((name) => `$.${name}`)}`

/** Rows of people who are registered: columns id, day, first, last, born, gender, zip. */
export const REGISTERED_ROW = `read: { format: csv }
row:
  key: [id, day]
  account:
    reference: id
    type: partnerAccountId
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: born, format: yyyy-MM-dd }
      gender: { from: gender }
      postalCode: zip
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
`

export const HEADER = 'id,day,pulse,a1c,weight,unit,remark\n'
export const ANN = 'ann,2026-03-02,61,5.1,70.5,kg,fine\n'
export const BEN = 'ben,2026-03-02,62,5.2,71.5,kg,fine\n'
/** Two people with three measurements each: what goes through whatever stands between them. */
export const GOOD = [
  'ann body-weight 70.5',
  'ann hba1c 5.1',
  'ann heart-rate 61',
  'ben body-weight 71.5',
  'ben hba1c 5.2',
  'ben heart-rate 62',
]

const NAMES: Readonly<Record<string, string>> = {
  '29463-7': 'body-weight',
  '4548-4': 'hba1c',
  '8867-4': 'heart-rate',
}

export interface Clinic {
  readonly store: ReferenceStore
  readonly workplace: Workplace
  /** Writes a file of the job's inbox. */
  deliver(name: string, content: string | Buffer): Promise<string>
  run(...args: string[]): ReturnType<Workplace['waybill']>
  /** `person rule value` of what the gateway stored, sorted. */
  stored(): Promise<string[]>
}

interface ClinicOptions {
  readonly mapping?: string
  readonly job?: string
  readonly environment?: Record<string, string>
  readonly store?: ReferenceStore
  /** What the clock of its commands shows now, in ms. */
  readonly startsAt?: number
  /** What becomes of a request on its way to the store. */
  readonly faultOf?: Parameters<typeof startFaultProxy>[1]
}

/** A job over an inbox of its own: `*.csv` and `*.ndjson`. */
export async function openClinic(options: ClinicOptions = {}): Promise<Clinic> {
  const store = options.store ?? (await startReferenceStore({ open: true }))
  const proxy = options.faultOf && (await startFaultProxy(store.url, options.faultOf))
  const settings = {
    ...gatewaySettings(proxy?.url ?? store.url),
    WAYBILL_MAPPINGS: 'mappings',
    ...options.environment,
  }
  const workplace = await createWorkplace(settings, options.startsAt)
  const at = (...path: string[]): string => join(workplace.folder, ...path)
  await mkdir(at('inbox'))
  await cp(join(PROJECT, 'mappings/catalog'), at('mappings/catalog'), { recursive: true })
  await writeFile(at('mappings/clinic.yaml'), options.mapping ?? CLINIC)
  await writeFile(at('mappings/clinic-json.yaml'), CLINIC_JSON)
  await workplace.job('clinic', options.job ?? JOB)
  return {
    store,
    workplace,
    async deliver(name, content) {
      await writeFile(at('inbox', name), content)
      return at('inbox', name)
    },
    run: (...args) => workplace.waybill('run', 'clinic', '--json', ...args),
    stored: async () =>
      (await store.records('biometric'))
        .map(({ _account, ...record }) => `${_account} ${NAMES[String(record['code'])]} ${record['value']}`)
        .sort(),
  }
}

export const JOB = `exports:
  - { from: ../inbox, match: "*.csv", mapping: clinic }
  - { from: ../inbox, match: "*.ndjson", mapping: clinic-json }
accounts: { register: never }
`

/** As after an earlier run: the first one reads profiles before it sends, which is not the point of most tests. */
export async function meetGateway({ home, environment }: Workplace): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  const file = join(home, 'ledger.sqlite')
  await writeFile(file, '', { mode: 0o600, flag: 'a' })
  const ledger = await openLedger(file)
  await ledger.installation.meet(environment['WAYBILL_GATEWAY_URL'] ?? '', 0)
  await ledger.close()
}

/** Nothing was sent, and the ledger knows of no run. */
export async function expectUntouched({ store, workplace }: Clinic): Promise<void> {
  expect(await store.allRecords()).toEqual([])
  const { code, out } = await workplace.waybill('runs', '--json')
  // What failed before a ledger was needed has made none.
  if (code === 2) expect(JSON.parse(out)).toMatchObject({ error: { code: 'ledger-not-found' } })
  else expect(JSON.parse(out)).toMatchObject({ runs: [], total: 0 })
}

export const rejectsOf = async (summary: Summary): Promise<string[]> => {
  const path = summary.exports[0]?.rejects
  if (path === undefined) return []
  return (await readRejects(path)).map(({ _line, _rule, _code }) =>
    `line ${_line} ${_rule} ${_code}`.replace('  ', ' '),
  )
}

/** A file in which the row stands on line 3, between two good ones. */
export const between = (row: string): string => `${HEADER}${ANN}${row}${BEN}`
