/**
 * What reading and mapping a wide export costs, against what bare csv-parse takes to read the same file, and what the fit
 * report adds to it. Run by `npm run bench:mapping [participants]`.
 *
 * Each side runs in a process of its own, in turns, so that neither has the other's warm code or garbage; the ratio is that
 * of the medians of processor time (user and system), which other processes on the machine disturb least, and of elapsed time.
 */
import { execFileSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse'
import { readMapping } from '../src/definitions/definition-files.ts'
import { openExport } from '../src/extract/open-export.ts'
import { createFitWatch } from '../src/watch/judge-fit.ts'

const TURNS = 5
const root = fileURLToPath(new URL('..', import.meta.url))

interface Measured {
  readonly rows: number
  readonly records: number
  readonly elapsedMs: number
  readonly processorMs: number
  readonly peakMb: number
}

async function readBare(file: string): Promise<{ rows: number; records: number }> {
  let rows = -1
  for await (const _row of createReadStream(file).pipe(
    parse({ relax_column_count: true, relax_quotes: true }),
  ))
    rows++
  return { rows, records: 0 }
}

async function readAndMap(file: string, judge: boolean): Promise<{ rows: number; records: number }> {
  const mapping = await readMapping(
    { jobs: join(root, 'jobs'), mappings: join(root, 'mappings') },
    'acme-onsite',
  )
  const opened = await openExport(file, mapping.read)
  const mapper = mapping.compiled.bind(opened.columns, 'bench', Date.now())
  const fit = createFitWatch(mapping, opened.columns)
  let rows = 0
  let records = 0
  for await (const block of opened.rows()) {
    for (const row of block) {
      const outcome = mapper(row)
      if (judge) fit.add(outcome)
      rows++
      if (outcome.outcome === 'mapped') records += outcome.records.length
    }
  }
  return { rows, records }
}

async function measure(side: string, file: string): Promise<void> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  const counts = await (side === 'bare' ? readBare(file) : readAndMap(file, side === 'fit'))
  const { user, system } = process.cpuUsage(cpu)
  const elapsedMs = performance.now() - start
  const peakMb = process.resourceUsage().maxRSS / 1024
  process.stdout.write(JSON.stringify({ ...counts, elapsedMs, processorMs: (user + system) / 1000, peakMb }))
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

async function compare(participants: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-bench-'))
  try {
    const generator = join(root, 'samples', 'generate.ts')
    execFileSync(process.execPath, [
      generator,
      ...['--participants', participants],
      ...['--messages', '0', '--out', folder],
    ])
    const [name] = (await readdir(folder)).filter((one) => one.startsWith('acme_screening_')).sort()
    if (name === undefined) throw new Error('the generator wrote no wide export')
    const file = join(folder, name)
    const run = (side: string): Measured =>
      JSON.parse(
        execFileSync(process.execPath, [fileURLToPath(import.meta.url), side, file], { encoding: 'utf8' }),
      )
    const bare: Measured[] = []
    const mapped: Measured[] = []
    const judged: Measured[] = []
    for (let turn = 0; turn < TURNS; turn++) {
      bare.push(run('bare'))
      mapped.push(run('map'))
      judged.push(run('fit'))
    }
    const line = (what: string, all: readonly Measured[]): string =>
      `${what.padEnd(22)} ${median(all.map(({ processorMs }) => processorMs)).toFixed(0)} ms of processor, ${median(all.map(({ elapsedMs }) => elapsedMs)).toFixed(0)} ms elapsed, ${median(all.map(({ peakMb }) => peakMb)).toFixed(0)} MB\n`
    const ratio = (of: (one: Measured) => number): string =>
      (median(mapped.map(of)) / median(bare.map(of))).toFixed(2)
    const processor = (all: readonly Measured[]): number => median(all.map(({ processorMs }) => processorMs))
    const added = ((processor(judged) - processor(mapped)) * 1000) / (mapped[0]?.rows ?? 1)
    const [{ rows, records } = { rows: 0, records: 0 }] = mapped
    process.stdout.write(
      `${rows} rows, ${records} records (${(records / rows).toFixed(1)} a row), medians of ${TURNS} turns\n${line('bare csv-parse', bare)}${line('reading and mapping', mapped)}${line('and the fit report', judged)}ratio ${ratio(({ processorMs }) => processorMs)} of processor time, ${ratio(({ elapsedMs }) => elapsedMs)} of elapsed time\nfit report ${added.toFixed(2)} µs of processor time a row\n`,
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}

const [first = '50000', file] = process.argv.slice(2)
if (file === undefined) await compare(first)
else await measure(first, file)
