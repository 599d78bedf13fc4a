/** Where a bench runs: a folder with exports, bodies and homes of Waybill, and a lean gateway beside it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, link, mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { LeanOptions, LeanReport } from './lean-gateway.ts'
import { type Measured, measure } from './measured.ts'
import { CONDITIONS, MEASUREMENTS } from './wide-export.ts'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

export class LeanGateway implements AsyncDisposable {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(url: string, process: ChildProcess) {
    this.url = url
    this.#process = process
  }

  static async start(options: LeanOptions): Promise<LeanGateway> {
    const program = join(import.meta.dirname, 'lean-gateway.ts')
    const gateway = spawn(process.execPath, [program, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [url] = (await once(createInterface(gateway.stdout), 'line')) as [string]
    return new LeanGateway(url, gateway)
  }

  async report(): Promise<LeanReport> {
    return (await (await fetch(`${this.url}/_held`)).json()) as LeanReport
  }

  async forget(): Promise<void> {
    await fetch(`${this.url}/_held`, { method: 'DELETE' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.stdin?.end()
    await ended
  }
}

const MAPPING = `mapping: bench
read: { format: csv }
row:
  key: [participant_id, screened_at]
  account:
    reference: participant_id
    type: partnerAccountId
    register:
      firstName: first_name
      lastName: last_name
      dateOfBirth: { from: dob, format: yyyy-MM-dd }
      gender: { from: gender, table: { F: FEMALE, M: MALE } }
      postalCode: zip
  observedAt: { from: screened_at, format: MM/dd/yyyy HH:mm, zone: America/New_York }
  source: { name: Acme Onsite Screening, type: screening, sendingSystem: acme }
biometrics:
${MEASUREMENTS.map(({ rule, column, unit }) => `  ${rule}: ${unit === undefined ? column : `{ from: ${column}, unit: ${unit} }`}`).join('\n')}
conditions:
${CONDITIONS.map(({ rule, column }) => `  ${rule}: { when: { ${column}: Y }, status: active }`).join('\n')}
careTeams:
  pcp: { when: { pcp_npi: present }, npi: pcp_npi, name: pcp_name, type: PCP, primary: true }
`

/** A folder in which Waybill has a job `bench`. */
export interface Place {
  /** Puts an export into the inbox, in the place of those that are there. */
  readonly inbox: string
  run(url: string, codes?: readonly number[]): Promise<Measured>
  waybill(parameters: readonly string[]): Promise<Measured>
}

/** @param register the job's `accounts.register` */
export async function waybillPlace(
  folder: string,
  exports: readonly string[],
  register: 'missing' | 'never' = 'never',
): Promise<Place> {
  for (const name of ['inbox', 'jobs', 'mappings']) await mkdir(join(folder, name), { recursive: true })
  await cp(join(PROJECT, 'mappings/catalog'), join(folder, 'mappings/catalog'), { recursive: true })
  await writeFile(join(folder, 'mappings/bench.yaml'), MAPPING)
  const job = `job: bench
exports: { from: ../inbox, match: "*.csv" }
mapping: bench
accounts: { register: ${register} }
submit: { concurrency: 8 }
`
  await writeFile(join(folder, 'jobs/bench.yaml'), job)
  for (const file of exports) await link(file, join(folder, 'inbox', basename(file)))
  const program = join(PROJECT, 'bin/waybill.js')
  const env = (url: string) => ({
    // The launcher asks for "node": that of this bench.
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    WAYBILL_HOME: join(folder, 'home'),
    WAYBILL_JOBS: join(folder, 'jobs'),
    WAYBILL_MAPPINGS: join(folder, 'mappings'),
    WAYBILL_GATEWAY_URL: url,
    WAYBILL_API_KEY: 'bench',
    WAYBILL_ACCESS_TOKEN: 'bench',
  })
  return {
    inbox: join(folder, 'inbox'),
    run: (url, codes) => measure(program, ['run', 'bench', '--json', '--quiet'], env(url), codes),
    waybill: (parameters) => measure(program, parameters, env('http://127.0.0.1:1')),
  }
}

export const byHand = (file: string, url: string, ...more: readonly string[]): Promise<Measured> =>
  measure(process.execPath, [join(import.meta.dirname, 'by-hand.ts'), file, url, ...more])

const OPENFN = join(PROJECT, 'bench/openfn')

/** Loads by OpenFn's runtime; undefined where it is not installed (`npm install --prefix bench/openfn --no-package-lock`). */
export const byOpenFn: ((file: string, url: string) => Promise<Measured>) | undefined = existsSync(
  join(OPENFN, 'node_modules'),
)
  ? (file, url) =>
      measure(process.execPath, [
        ...['--experimental-vm-modules', '--no-warnings', join(OPENFN, 'load.mjs'), file, url],
      ])
  : undefined

export const collectByHand = (roster: string, url: string, to: string): Promise<Measured> =>
  measure(process.execPath, [join(import.meta.dirname, 'collect-by-hand.ts'), roster, url, to])

const ROSTER = `mapping: roster
read: { format: csv }
row:
  key: [participant_id]
  account:
    reference: participant_id
    register: { firstName: first_name, lastName: last_name, dateOfBirth: dob, gender: gender, postalCode: zip }
`

/** In the place of the job that loads: one that collects biometrics of the people of the export, into a folder `out` beside it. */
export async function collectInstead(folder: string): Promise<void> {
  await writeFile(join(folder, 'mappings/roster.yaml'), ROSTER)
  await writeFile(
    join(folder, 'jobs/bench.yaml'),
    `job: bench
people: { exports: { from: ../inbox, match: "*.csv" }, mapping: roster }
collect: { what: [biometrics] }
to: { folder: ../out }
submit: { concurrency: 8 }
`,
  )
}

export const wireLimit = (bodies: string, url: string): Promise<Measured> =>
  measure(process.execPath, [join(import.meta.dirname, 'wire-limit.ts'), bodies, url])
