/** The numbers of a run as its faces show them, beside those that SQLite adds up from the ledger's tables. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { z } from 'zod'
import { readReceipts } from '../cli/run-outputs.ts'
import { Shown } from './ending.ts'
import type { World } from './world.ts'

const KINDS = { biometric: 'biometrics', condition: 'conditions', careTeam: 'care teams' } as const
const ROWS = ['read', 'mapped', 'skipped', 'rejected'] as const
const OUTCOMES = ['made', 'accepted', 'unchanged', 'rejected', 'inDoubt', 'pending'] as const

type Of<Name extends string> = Record<Name, number>
interface Numbers {
  readonly rows: Of<(typeof ROWS)[number]>
  readonly records: Record<keyof typeof KINDS, Of<(typeof OUTCOMES)[number]>>
}

/** `outcome code` → how many. */
type Reasons = Readonly<Record<string, number>>

const each = <Name extends string, Value>(names: readonly Name[], make: (name: Name) => Value) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Value>

const kinds = <Value>(make: (kind: keyof typeof KINDS) => Value) =>
  each(Object.keys(KINDS) as (keyof typeof KINDS)[], make)

/** The settled chunks, and the exceptions one by one. */
function sumsOf(file: string, run: string): { numbers: Numbers; left: Numbers; reasons: Reasons } {
  const database = new DatabaseSync(file, { readOnly: true })
  const ask = (what: string, table: string, where = 'true'): Record<string, unknown>[] =>
    database
      .prepare(
        `select ${what} from ${table} t join export e on e.id = t.export_row where e.run_id = ? and ${where}`,
      )
      .all(run)
  const one = (...question: Parameters<typeof ask>): number => Number(ask(...question)[0]?.['n'])
  const settled = (path: string): number =>
    one(`coalesce(sum(json_extract(t.counts, '$.${path}')), 0) n`, 'chunk')
  const left = (outcome: string, kind: string): number =>
    one('count(*) n', 'exception', `t.outcome = '${outcome}' and t.kind is ${kind}`)
  try {
    const numbers = {
      rows: each(ROWS, (row) => settled(`rows.${row}`)),
      records: kinds((kind) => each(OUTCOMES, (outcome) => settled(`records.${kind}.${outcome}`))),
    }
    return {
      numbers,
      left: {
        rows: { ...numbers.rows, rejected: left('rejected', 'null') },
        records: kinds((kind) => ({
          ...numbers.records[kind],
          rejected: left('rejected', `'${kind}'`),
          inDoubt: left('in-doubt', `'${kind}'`),
        })),
      },
      reasons: Object.fromEntries(
        ask(`t.outcome || ' ' || t.code reason, count(*) n`, 'exception', 'true group by 1').map(
          ({ reason, n }) => [String(reason), Number(n)],
        ),
      ),
    }
  } finally {
    database.close()
  }
}

const totalOf = ({ records }: Numbers) =>
  each(OUTCOMES, (outcome) => Object.values(records).reduce((sum, of) => sum + of[outcome], 0))

/** @param out what `run --json` has printed */
export async function expectNumbers(world: World, out: string): Promise<void> {
  const { run, files } = Shown.parse(JSON.parse(out))
  const { numbers, left, reasons } = sumsOf(join(world.home, 'ledger.sqlite'), run)
  const all = totalOf(numbers)
  expect(left, 'exceptions').toEqual(numbers)
  const receipts = files.receipts === undefined ? [] : await readReceipts(files.receipts)
  // What an earlier run has left in doubt is found, and its receipt written, by this one.
  expect(receipts.length, 'receipts').toBeGreaterThanOrEqual(all.accepted)

  const shown = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await world.waybill([...args, '--json'])).out)
  expect(JSON.parse(out), 'run --json').toMatchObject(numbers)
  const whole = await shown('show', run)
  expect(whole, 'show --json').toMatchObject(numbers)
  expect(reasonsOf(whole), 'reasons of show --json').toEqual(reasons)
  expect(Runs.parse(await shown('runs')).runs[0], 'runs --json').toMatchObject({ run, ...numbers })
  const { data } = Notice.parse(JSON.parse(await readFile(join(world.folder, 'notice.json'), 'utf8')))
  expect(data.details, 'notice').toMatchObject({ run, ...numbers })

  expectShown((await world.waybill(['show', run])).out, numbers, reasons)
  expectListed((await world.waybill(['runs'])).out, run, numbers)
  const page = join(world.folder, `${run}.html`)
  await world.waybill(['report', run, '--out', page])
  expectPage(await readFile(page, 'utf8'), numbers)
  expectMetrics(await readFile(join(world.folder, 'metrics.prom'), 'utf8'), numbers)
}

const Runs = z.object({ runs: z.array(z.looseObject({ run: z.string() })) })
const Notice = z.object({ data: z.looseObject({ details: z.looseObject({}) }) })
const Reasons = z.object({
  reasons: z.array(z.looseObject({ outcome: z.string(), code: z.string(), count: z.int() })),
})

function reasonsOf(whole: unknown): Reasons {
  const sums: Record<string, number> = {}
  for (const { outcome, code, count } of Reasons.parse(whole).reasons)
    sums[`${outcome} ${code}`] = (sums[`${outcome} ${code}`] ?? 0) + count
  return sums
}

/** Cells of the lines of tables, by what stands in front. */
const cellsOf = (text: string): Map<string, string[]> =>
  new Map(
    text.split('\n').map((line) => {
      const [first = '', ...cells] = line.trim().split(/ {2,}/)
      return [first, cells]
    }),
  )

const plain = (text: string | undefined): number => Number(text?.replaceAll(',', ''))

function expectShown(text: string, { rows, records }: Numbers, reasons: Reasons): void {
  const { read, mapped, skipped, rejected } = rows
  expect(text).toContain(
    `Rows     read ${read} = mapped ${mapped} + skipped ${skipped} + rejected ${rejected}`,
  )
  const lines = cellsOf(text)
  const heads = ['made', 'accepted', 'rejected', 'unchanged', 'in doubt', 'pending']
  expect(lines.get('records') ?? heads, 'show').toEqual(heads)
  for (const [kind, name] of Object.entries(KINDS)) {
    const {
      made,
      accepted,
      rejected: refused,
      unchanged,
      inDoubt,
      pending,
    } = records[kind as keyof typeof KINDS]
    const cells = lines.get(name)?.map(plain) ?? [0, 0, 0, 0, 0, 0]
    expect(cells, `show: ${name}`).toEqual([made, accepted, refused, unchanged, inDoubt, pending])
  }
  // Each line begins with a count.
  const told: Record<string, number> = {}
  for (const [, count, outcome, code] of text.matchAll(
    /^ +([\d,]+) {3}(rejected|in-doubt|warning)(?:, \S.*?)? {3,}(\S+) /gm,
  ))
    told[`${outcome} ${code}`] = (told[`${outcome} ${code}`] ?? 0) + plain(count)
  expect(told, 'reasons of show').toEqual(reasons)
}

function expectListed(text: string, run: string, numbers: Numbers): void {
  const cells = cellsOf(text).get(run) ?? []
  const { accepted, unchanged, rejected, inDoubt } = totalOf(numbers)
  const { read, rejected: rowsRejected } = numbers.rows
  // Behind the exit code; the most frequent reason is no number.
  const shown = cells.slice(4).flatMap((cell) => (/^[\d,]+$/.test(cell) ? [plain(cell)] : []))
  expect(shown.slice(0, 5), 'runs').toEqual([rowsRejected + rejected, inDoubt, read, accepted, unchanged])
}

function expectPage(page: string, numbers: Numbers): void {
  const cells = new Map(
    [...page.matchAll(/<tr><th scope="row">([^<]+)<\/th>(.*?)<\/tr>/g)].map(([, name = '', rest = '']) => [
      name,
      [...rest.matchAll(/<td class="number">([\d,]+)<\/td>/g)].map(([, number]) => plain(number)),
    ]),
  )
  const all = totalOf(numbers)
  if (numbers.rows.read === 0) return
  for (const row of ROWS) expect(cells.get(`rows ${row}`), `report: ${row}`).toEqual([numbers.rows[row]])
  for (const outcome of OUTCOMES) {
    const name = outcome === 'inDoubt' ? 'in doubt' : outcome
    expect(cells.get(`records ${name}`), `report: ${name}`).toEqual([all[outcome]])
  }
  for (const [kind, name] of Object.entries(KINDS)) {
    const of = numbers.records[kind as keyof typeof KINDS]
    expect(cells.get(name) ?? OUTCOMES.map(() => 0), `report: ${name}`).toEqual(
      OUTCOMES.map((one) => of[one]),
    )
  }
}

function expectMetrics(text: string, { rows, records }: Numbers): void {
  const value = (labels: string): number => {
    const line = text.split('\n').find((one) => one.startsWith(`waybill_last_run_${labels} `))
    return Number(line?.split(' ')[1])
  }
  for (const row of ROWS.slice(1))
    expect(value(`rows{job="drawn",outcome="${row}"}`), `metrics: rows ${row}`).toBe(rows[row])
  for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[])
    for (const outcome of OUTCOMES.slice(1)) {
      const name = outcome === 'inDoubt' ? 'in-doubt' : outcome
      const labels = `records{job="drawn",kind="${kind === 'careTeam' ? 'care-team' : kind}",outcome="${name}"}`
      expect(value(labels), `metrics: ${kind} ${name}`).toBe(records[kind][outcome])
    }
}
