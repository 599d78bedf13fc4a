/** What is measured, a scenario each. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Held, isSame } from './held.ts'
import type { LeanReport } from './lean-gateway.ts'
import { type Measured, median } from './measured.ts'
import {
  byHand,
  byOpenFn,
  collectByHand,
  collectInstead,
  LeanGateway,
  type Place,
  waybillPlace,
  wireLimit,
} from './places.ts'
import { type WideExport, writeWideExport } from './wide-export.ts'

export interface Finding {
  readonly figure: string
  readonly goal: string
  readonly measured: string
  readonly detail: string
}

export interface Bench {
  readonly folder: string
  readonly rows: number
  readonly turns: number
  say(line: string): void
}

export interface Scenario {
  readonly name: string
  readonly what: string
  readonly isSlow?: true
  play(bench: Bench): Promise<readonly Finding[]>
}

interface Export extends WideExport {
  readonly file: string
}

const fresh = (bench: Bench): string => join(bench.folder, randomUUID())

async function madeExport(bench: Bench, rows: number, more: object = {}): Promise<Export> {
  const file = `${fresh(bench)}.csv`
  return { ...(await writeWideExport(file, rows, more)), file }
}

interface Run extends Measured {
  readonly report: LeanReport
}

/** @throws Error where the gateway does not hold exactly what it must */
async function checked(
  gateway: LeanGateway,
  wanted: Held | undefined,
  run: () => Promise<Measured>,
): Promise<Run> {
  await gateway.forget()
  const measured = await run()
  const report = await gateway.report()
  if (wanted !== undefined && !isSame(report.held, wanted))
    throw new Error(
      `the gateway holds ${report.held.records} records, not the ${wanted.records} of the export: ${JSON.stringify(report)}`,
    )
  return { ...measured, report }
}

/**
 * The loader by hand repeats a request that failed, even one that was taken, and so sends some records twice in most large runs. That is what
 * it is, and the run counts as long as nothing is missing and little is doubled; how much was is told.
 */
async function byHandOnce({ say }: Bench, gateway: LeanGateway, wide: Export): Promise<Run> {
  const run = await checked(gateway, undefined, () => byHand(wide.file, gateway.url))
  const doubled = run.report.held.records - wide.held.records
  if (
    doubled < 0 ||
    doubled > wide.held.records / 50 ||
    (doubled === 0 && !isSame(run.report.held, wide.held))
  )
    throw new Error(`by hand: the gateway holds ${run.report.held.records} records, not ${wide.held.records}`)
  if (doubled > 0) say(`  by hand: ${doubled} records were sent twice`)
  return run
}

/** Each in turns; of one that is undefined there are no runs. */
async function inTurns<Name extends string>(
  { turns, say }: Bench,
  sides: Readonly<Record<Name, (() => Promise<Run>) | undefined>>,
): Promise<Record<Name, readonly Run[]>> {
  const all = Object.fromEntries(Object.keys(sides).map((name) => [name, []])) as unknown as Record<
    Name,
    Run[]
  >
  for (let turn = 0; turn < turns; turn++) {
    for (const name of Object.keys(sides) as Name[]) {
      const run = await sides[name]?.()
      if (run === undefined) continue
      all[name].push(run)
      say(
        `  ${name}: ${seconds(run.processorS)} of processor time, ${seconds(run.elapsedS)} elapsed, peak ${run.peakMB.toFixed(0)} MB`,
      )
    }
  }
  return all
}

const of = (runs: readonly Run[], figure: (run: Run) => number): number => median(runs.map(figure))
const processor = (runs: readonly Run[]): number => of(runs, ({ processorS }) => processorS)
const elapsed = (runs: readonly Run[]): number => of(runs, ({ elapsedS }) => elapsedS)
const seconds = (value: number): string => `${value.toFixed(2)} s`
const ratio = (one: number, other: number): string => (one / other).toFixed(2)

/** A home of its own for each run, as a first night has it. */
async function firstLoad(
  bench: Bench,
  gateway: LeanGateway,
  wide: Export,
  codes?: readonly number[],
): Promise<Run> {
  const folder = fresh(bench)
  const place = await waybillPlace(folder, [wide.file])
  const run = await checked(gateway, codes === undefined ? wide.held : undefined, () =>
    place.run(gateway.url, codes),
  )
  await rm(folder, { recursive: true })
  return run
}

/** Ready-made bodies, as the loader by hand sends them. */
async function bodiesOf(bench: Bench, wide: Export): Promise<string> {
  const file = `${fresh(bench)}.bodies`
  await using gateway = await LeanGateway.start({ echo: 'least', keepBodiesIn: file })
  await byHandOnce(bench, gateway, wide)
  return file
}

/** Goals of a first load, by how much the gateway echoes. */
const LOAD_GOALS = {
  least: { processor: '≤ 0.55', elapsed: '≤ 0.75' },
  full: { processor: '≤ 0.45', elapsed: '≤ 0.75' },
} as const

/** The other loaders of a first load, in turns with Waybill. */
async function loaded(bench: Bench, gateway: LeanGateway, wide: Export) {
  const bodies = await bodiesOf(bench, wide)
  const openFn = byOpenFn
  const others = await inTurns(bench, {
    'by hand': () => byHandOnce(bench, gateway, wide),
    openfn: openFn && (() => checked(gateway, wide.held, () => openFn(wide.file, gateway.url))),
    wire: () => checked(gateway, wide.held, () => wireLimit(bodies, gateway.url)),
    waybill: () => firstLoad(bench, gateway, wide),
  })
  return { hand: others['by hand'], openfn: others.openfn, wire: others.wire, waybill: others.waybill }
}

const load =
  (echo: 'full' | 'least', rowsOf: (bench: Bench) => number): Scenario['play'] =>
  async (bench) => {
    const rows = rowsOf(bench)
    const wide = await madeExport(bench, rows)
    await using gateway = await LeanGateway.start({ echo })
    const { hand, openfn, wire, waybill } = await loaded(bench, gateway, wide)
    const what = `${rows.toLocaleString('en-US')} rows, ${wide.records.toLocaleString('en-US')} records, ${echo} echoes`
    const requests = of(waybill, ({ report }) => report.requests)
    const least = of(wire, ({ report }) => report.requests)
    const goals = LOAD_GOALS[echo]
    const besides = (figure: typeof processor): string =>
      openfn.length === 0 ? 'OpenFn not installed' : `OpenFn ${ratio(figure(openfn), figure(hand))}`
    const perRow = ((processor(waybill) / rows) * 1e6).toFixed(0)
    const written = of(waybill, ({ writtenMB }) => writtenMB)
    return [
      {
        figure: `processor time against by hand, ${what}`,
        goal: `${goals.processor}, and below OpenFn`,
        measured: ratio(processor(waybill), processor(hand)),
        detail: `${besides(processor)}; ${seconds(processor(waybill))}, by hand ${seconds(processor(hand))}, wire ${seconds(processor(wire))}; ${perRow} µs a row`,
      },
      {
        figure: 'elapsed against by hand',
        goal: goals.elapsed,
        measured: ratio(elapsed(waybill), elapsed(hand)),
        detail: `${besides(elapsed)}; ${seconds(elapsed(waybill))}, by hand ${seconds(elapsed(hand))}`,
      },
      {
        figure: 'elapsed against the wire',
        goal: '≤ 1.3',
        measured: ratio(elapsed(waybill), elapsed(wire)),
        detail: `wire ${seconds(elapsed(wire))}`,
      },
      {
        figure: 'peak memory',
        goal: '≤ 200 MB',
        measured: `${of(waybill, ({ peakMB }) => peakMB).toFixed(0)} MB`,
        detail: `by hand ${of(hand, ({ peakMB }) => peakMB).toFixed(0)} MB`,
      },
      {
        figure: 'bytes written a row',
        goal: '≤ 1.2 kB',
        measured: `${((written / rows) * 1000).toFixed(2)} kB`,
        detail: `${written.toFixed(0)} MB`,
      },
      {
        figure: 'requests against the least',
        goal: '≤ 1.06',
        measured: ratio(requests, least),
        detail: `${requests}, by hand ${of(hand, ({ report }) => report.requests)}; ${of(waybill, ({ report }) => report.most)} at once`,
      },
    ]
  }

/** Peak memory of a load, and of one with ten times the rows. */
async function tenTimes(bench: Bench): Promise<Finding[]> {
  const peaks: number[] = []
  for (const times of [1, 10]) {
    const wide = await madeExport(bench, bench.rows * times)
    await using gateway = await LeanGateway.start({ echo: 'least' })
    const { peakMB } = await firstLoad(bench, gateway, wide)
    await rm(wide.file)
    peaks.push(peakMB)
  }
  const [once = Number.NaN, more = Number.NaN] = peaks
  return [
    {
      figure: 'peak memory at ten times the rows',
      goal: '≤ 1.05 times',
      measured: ratio(more, once),
      detail: `${more.toFixed(0)} MB, ${once.toFixed(0)} MB for ${bench.rows.toLocaleString('en-US')} rows`,
    },
  ]
}

async function again(bench: Bench): Promise<Finding[]> {
  const wide = await madeExport(bench, bench.rows)
  await using gateway = await LeanGateway.start({ echo: 'full' })
  const place = await waybillPlace(fresh(bench), [wide.file])
  const first = await checked(gateway, wide.held, () => place.run(gateway.url))
  const runs = await inTurns(bench, {
    again: () => checked(gateway, undefined, () => place.run(gateway.url)),
  })
  const requests = of(runs.again, ({ report }) => report.requests)
  if (requests > 0) throw new Error(`${requests} requests for what is known`)
  return [
    {
      ...{ figure: 'the same export again: rows a second against the first load', goal: '≥ 8' },
      measured: ratio(first.elapsedS, elapsed(runs.again)),
      detail: `${seconds(elapsed(runs.again))}, ${seconds(processor(runs.again))} of processor time; the first ${seconds(first.elapsedS)}`,
    },
  ]
}

async function latency(bench: Bench): Promise<Finding[]> {
  const wide = await madeExport(bench, 20_000)
  const bodies = await bodiesOf(bench, wide)
  await using gateway = await LeanGateway.start({ echo: 'full', latencyMs: 100 })
  const {
    wire,
    waybill,
    'by hand': hand,
  } = await inTurns(bench, {
    wire: () => checked(gateway, wide.held, () => wireLimit(bodies, gateway.url)),
    'by hand': () => byHandOnce(bench, gateway, wide),
    waybill: () => firstLoad(bench, gateway, wide),
  })
  return [
    {
      ...{ figure: '100 ms of latency, 20,000 rows: elapsed against the least possible', goal: '≤ 1.1' },
      measured: ratio(elapsed(waybill), elapsed(wire)),
      detail: `${seconds(elapsed(waybill))}, by hand ${seconds(elapsed(hand))}, least ${seconds(elapsed(wire))}; ${of(waybill, ({ report }) => report.requests)} requests instead of ${of(wire, ({ report }) => report.requests)}`,
    },
  ]
}

async function permittedRate(bench: Bench): Promise<Finding[]> {
  const perSecond = 20
  const wide = await madeExport(bench, 20_000)
  await using gateway = await LeanGateway.start({ echo: 'least', perSecond })
  const { report } = await firstLoad(bench, gateway, wide)
  const used = (100 * (report.requests - report.heldBack)) / ((perSecond * report.sendingMs) / 1000)
  return [
    {
      ...{ figure: '20 requests a second permitted: used, refused', goal: '≥ 95 %, ≤ 1 %' },
      measured: `${used.toFixed(1)} %, ${((100 * report.heldBack) / report.requests).toFixed(1)} %`,
      detail: `${report.requests} requests in ${(report.sendingMs / 1000).toFixed(1)} s`,
    },
  ]
}

async function refused(bench: Bench): Promise<Finding[]> {
  const wide = await madeExport(bench, 20_000)
  await using all = await LeanGateway.start({ echo: 'least' })
  await using some = await LeanGateway.start({ echo: 'least', refusesOneIn: 100 })
  await using silent = await LeanGateway.start({ echo: 'least', refusesOneIn: 100, namesNobody: true })
  const { plain, named, halved } = await inTurns(bench, {
    plain: () => firstLoad(bench, all, wide),
    named: () => firstLoad(bench, some, wide, [1]),
    halved: () => firstLoad(bench, silent, wide, [1]),
  })
  const finding = (how: string, runs: readonly Run[]): Finding => {
    const left = wide.records - of(runs, ({ report }) => report.held.records)
    const more = processor(runs) - processor(plain)
    const requests = of(runs, ({ report }) => report.requests) - of(plain, ({ report }) => report.requests)
    return {
      figure: `one record in 100 refused, ${how}: processor time a refused record`,
      goal: 'none',
      measured: `${((more / left) * 1e6).toFixed(0)} µs`,
      detail: `${left} refused of ${wide.records}, ${requests} requests more; ${((more / requests) * 1e6).toFixed(0)} µs a request more`,
    }
  }
  return [finding('named by the refusal of its batch', named), finding('found by halving batches', halved)]
}

async function people(bench: Bench): Promise<Finding[]> {
  const wide = await madeExport(bench, 5_000, { withPhysician: true })
  await using gateway = await LeanGateway.start({ echo: 'least' })
  const complete = async (run: () => Promise<Measured>): Promise<Run> => {
    const done = await checked(gateway, wide.held, run)
    const { people: known, careTeams, marks } = done.report
    if (known !== wide.rows || careTeams !== wide.rows || marks !== wide.rows)
      throw new Error(`${known} people, ${careTeams} care-team entries, ${marks} marks of ${wide.rows}`)
    return done
  }
  const { waybill, 'by hand': hand } = await inTurns(bench, {
    'by hand': () => complete(() => byHand(wide.file, gateway.url, 'people')),
    waybill: async () => {
      const folder = fresh(bench)
      const place = await waybillPlace(folder, [wide.file], 'missing')
      const run = await complete(() => place.run(gateway.url))
      await rm(folder, { recursive: true })
      return run
    },
  })
  return [
    {
      ...{ figure: '5,000 new people with doctor and mark: processor time against by hand', goal: '≤ 1.5' },
      measured: ratio(processor(waybill), processor(hand)),
      detail: `${seconds(processor(waybill))}, by hand ${seconds(processor(hand))}; ${((processor(waybill) / wide.rows) * 1000).toFixed(2)} ms a person; ${seconds(elapsed(waybill))} elapsed, by hand ${seconds(elapsed(hand))}`,
    },
  ]
}

/** Of each person 13 records, as NDJSON. */
async function collecting(bench: Bench): Promise<Finding[]> {
  const wide = await madeExport(bench, bench.rows)
  await using gateway = await LeanGateway.start({ echo: 'least', shows: 13 })
  const whole = async (file: () => Promise<string>, run: () => Promise<Measured>): Promise<Run> => {
    const done = await checked(gateway, undefined, run)
    const lines = await linesOf(await file())
    if (lines !== wide.rows || done.report.requests < wide.rows)
      throw new Error(`${lines} people of ${wide.rows} were collected`)
    return done
  }
  const { waybill, 'by hand': hand } = await inTurns(bench, {
    'by hand': async () => {
      const to = `${fresh(bench)}.ndjson`
      const run = await whole(
        async () => to,
        () => collectByHand(wide.file, gateway.url, to),
      )
      await rm(to)
      return run
    },
    waybill: async () => {
      const folder = fresh(bench)
      const place = await waybillPlace(folder, [wide.file])
      await collectInstead(folder)
      const file = async (): Promise<string> => {
        const [run = ''] = await readdir(join(folder, 'out'))
        return join(folder, 'out', run, 'people.ndjson')
      }
      const done = await whole(file, () => place.run(gateway.url))
      await rm(folder, { recursive: true })
      return done
    },
  })
  return [
    {
      figure: `${wide.rows.toLocaleString('en')} people collected: processor time against by hand`,
      ...{ goal: '≤ 1.0', measured: ratio(processor(waybill), processor(hand)) },
      detail: `${seconds(processor(waybill))}, by hand ${seconds(processor(hand))}; ${seconds(elapsed(waybill))} elapsed, by hand ${seconds(elapsed(hand))}; peak ${of(waybill, ({ peakMB }) => peakMB).toFixed(0)} MB, by hand ${of(hand, ({ peakMB }) => peakMB).toFixed(0)} MB`,
    },
  ]
}

async function linesOf(file: string): Promise<number> {
  let lines = 0
  for await (const piece of createReadStream(file))
    for (const byte of piece as Buffer) if (byte === 10) lines++
  return lines
}

async function oneRow(bench: Bench): Promise<Finding[]> {
  const wide = await madeExport(bench, 1)
  await using gateway = await LeanGateway.start({ echo: 'full' })
  const place = await waybillPlace(fresh(bench), [])
  const quiet = (run: () => Promise<Measured>) => checked(gateway, undefined, run)
  await quiet(() => place.waybill(['--help']))
  const {
    one,
    help,
    'by hand': hand,
  } = await inTurns(
    { ...bench, turns: Math.max(5, bench.turns) },
    {
      'by hand': () => byHandOnce(bench, gateway, wide),
      one: () => firstLoad(bench, gateway, wide),
      help: () => quiet(() => place.waybill(['--help'])),
    },
  )
  return [
    {
      figure: 'a run of one row: processor time against by hand',
      goal: '≤ 1.5',
      measured: ratio(processor(one), processor(hand)),
      detail: `${seconds(processor(one))}, by hand ${seconds(processor(hand))}; ${seconds(elapsed(one))} elapsed; --help ${seconds(processor(help))}`,
    },
  ]
}

/** Night after night into one ledger, until it holds two million rows; then the usual export. */
async function fullLedger(bench: Bench): Promise<Finding[]> {
  const nights = 20
  await using gateway = await LeanGateway.start({ echo: 'least' })
  const folder = fresh(bench)
  let place: Place | undefined
  const runs: Run[] = []
  for (let night = 0; night <= nights; night++) {
    const wide = await madeExport(bench, 100_000, { firstRow: night * 100_000 })
    if (place !== undefined) await rm(place.inbox, { recursive: true })
    place = await waybillPlace(folder, [wide.file])
    const { run } = place
    runs.push(await checked(gateway, wide.held, () => run(gateway.url)))
    await rm(wide.file)
    bench.say(`  night ${night + 1}: ${seconds(runs.at(-1)?.processorS ?? 0)} of processor time`)
  }
  const [first] = runs
  const last = runs.at(-1)
  if (first === undefined || last === undefined) return []
  return [
    {
      ...{
        figure: '2 million rows in the ledger: processor time a row against an empty one',
        goal: '≤ 1.05',
      },
      measured: ratio(last.processorS, first.processorS),
      detail: `${seconds(first.processorS)}, then ${seconds(last.processorS)} for 100,000 rows; ${(last.writtenMB / 100).toFixed(2)} kB written a row, at first ${(first.writtenMB / 100).toFixed(2)} kB`,
    },
  ]
}

export const SCENARIOS: readonly Scenario[] = [
  { name: 'load', what: 'a first load, whole echoes', play: load('full', ({ rows }) => rows) },
  {
    name: 'load-least',
    what: 'a first load, least echoes',
    play: load('least', ({ rows }) => rows),
  },
  { name: 'load-20k', what: 'a first load of 20,000 rows', play: load('full', () => 20_000) },
  { name: 'again', what: 'the same export again', play: again },
  { name: 'latency', what: '100 ms of latency', play: latency },
  { name: 'rate', what: '20 requests a second permitted', play: permittedRate },
  { name: 'refused', what: 'one record in 100 refused', play: refused },
  { name: 'people', what: 'new people with doctor and mark', play: people },
  { name: 'collect', what: 'people collected', play: collecting },
  { name: 'one-row', what: 'a run of one row', play: oneRow },
  {
    name: 'load-400k',
    what: 'a first load of 400,000 rows',
    isSlow: true,
    play: load('full', () => 400_000),
  },
  { name: 'ten-times', what: 'ten times the rows', isSlow: true, play: tenTimes },
  { name: 'full-ledger', what: '2 million rows in the ledger', isSlow: true, play: fullLedger },
]
