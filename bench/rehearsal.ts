/**
 * A run under faults, from end to end: `waybill run` on a made export, one record a request, against a reference gateway in a process of
 * its own that fails as the plan says.
 */
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startAttached } from '../src/runs/connect-gateway.ts'

export interface Rehearsed {
  /** What `waybill run --json` said at its end. */
  readonly summary: {
    readonly records: { readonly biometric: { readonly made: number; readonly accepted: number } }
    readonly requests: { readonly sent: number; readonly readBack: number }
  }
  /** From when the first record was stored to when all were. */
  readonly sendingMs: number
  /** In the order of the plan. */
  readonly faults: readonly { readonly matched: number; readonly struck: number }[]
  /** Records that the gateway has, and ids that it has more than once. */
  readonly stored: number
  readonly doubled: number
}

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const ENTRY = join(PROJECT, 'bin/waybill.js')

const MAPPING = `mapping: rehearsal
read: { format: csv }
row:
  key: [id]
  account: { reference: id, type: partnerAccountId }
  observedAt: { from: day, format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Rehearsal, type: screening, sendingSystem: rehearsal }
biometrics: { heart-rate: pulse }
`
const JOB = `job: rehearsal
exports: { from: ../inbox, match: "*.csv" }
mapping: rehearsal
accounts: { register: never }
submit: { batch: { records: 1 } }
`

/** @param rows how many; each is a request */
export async function rehearse(rows: number, faults: readonly object[]): Promise<Rehearsed> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-rehearsal-'))
  const gateway = await startAttached(['--open'], {})
  const { url } = gateway
  try {
    for (const name of ['inbox', 'jobs', 'mappings']) await mkdir(join(folder, name))
    await cp(join(PROJECT, 'mappings/catalog'), join(folder, 'mappings/catalog'), { recursive: true })
    await writeFile(join(folder, 'mappings/rehearsal.yaml'), MAPPING)
    await writeFile(join(folder, 'jobs/rehearsal.yaml'), JOB)
    const lines = Array.from({ length: rows }, (_, row) => `P${row},2026-03-02,${60 + (row % 40)}\n`)
    await writeFile(join(folder, 'inbox/export.csv'), `id,day,pulse\n${lines.join('')}`)

    await fetch(`${url}/_reference/faults`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ faults }),
    })
    const run = spawn(process.execPath, [ENTRY, 'run', 'rehearsal', '--json'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        WAYBILL_HOME: join(folder, 'home'),
        WAYBILL_JOBS: join(folder, 'jobs'),
        WAYBILL_MAPPINGS: join(folder, 'mappings'),
        WAYBILL_GATEWAY_URL: url,
        WAYBILL_API_KEY: 'rehearsal',
        WAYBILL_ACCESS_TOKEN: 'rehearsal',
      },
    })
    const said = text(run.stdout)
    const sendingMs = await timeOf(() => read<{ biometric: number }>(`${url}/_reference/counts`), rows, run)
    const summary = JSON.parse(await said) as Rehearsed['summary']
    const report = await read<{ faults: Rehearsed['faults'] }>(`${url}/_reference/faults`)
    const counts = await read<{ biometric: number }>(`${url}/_reference/counts`)
    const twice = await (await fetch(`${url}/_reference/occurrences?kind=biometric&min=2`)).text()
    return {
      summary,
      sendingMs,
      faults: report.faults,
      stored: counts.biometric,
      doubled: twice.split('\n').filter((line) => line !== '').length,
    }
  } finally {
    await gateway.stop()
    await rm(folder, { recursive: true })
  }
}

/** Looks every tenth of a second how much is stored. */
async function timeOf(
  count: () => Promise<{ biometric: number }>,
  rows: number,
  run: { readonly exitCode: number | null },
): Promise<number> {
  let begun: number | undefined
  for (;;) {
    const { biometric } = await count()
    const now = performance.now()
    if (biometric > 0) begun ??= now
    if (biometric >= rows || run.exitCode !== null) return now - (begun ?? now)
    await delay(100)
  }
}

const read = async <T>(url: string): Promise<T> => (await (await fetch(url)).json()) as T
