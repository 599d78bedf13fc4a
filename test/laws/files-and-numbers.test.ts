/** Whatever comes first in a file, the command that it is meant for reads it; whatever shows a number shows what the ledger's tables add up to. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readReceipts } from '../cli/run-outputs.ts'
import { misnested } from '../story/report/well-formed.ts'
import { drawnExport } from './drawn-exports.ts'
import { type Shown, shownOf } from './ending.ts'
import { expectNumbers } from './numbers.ts'
import { LAWS, openWorld, type World } from './world.ts'

const drawnRun = {
  drawn: drawnExport({ maxRows: LAWS.rows, peopleComeAgain: true, fates: ['refused', 'unanswered', 'lost'] }),
  chunkRows: fc.integer({ min: 1, max: 12 }),
}

test('each file of a run is read by what it is meant for', LAWS.timed, async () => {
  await fc.assert(
    fc.asyncProperty(drawnRun.drawn, drawnRun.chunkRows, async (drawn, chunkRows) => {
      const world = await openWorld()
      await world.deliver('day.csv', drawn)
      await world.waybill(['run', 'drawn'], { chunkRows })
      const shown = await shownOf(world)
      await expectTraced(world, shown)
      await expectReport(world, shown)
      await expectRejectsRun(world, shown, chunkRows)
    }),
    LAWS.check(3),
  )
})

/** Each record that the gateway holds is there once, and has its receipt, or is in doubt; a receipt leads to the run that has it accepted. */
async function expectTraced(world: World, { run, files, exports }: Shown): Promise<void> {
  const stored = (await world.store.allRecords()).map(({ source }) => source.meta.persistentRecordId)
  const receipts = files.receipts === undefined ? [] : await readReceipts(files.receipts)
  const doubts = (await rejectLines(exports[0]?.rejects)).filter(isInDoubt).map(placeOf)
  const isDoubtful = (id: string): boolean => {
    const [, row, rule] = /^[0-9a-f]{16}-0*(\d+)-(.+)-[0-9a-f]{8}$/.exec(id) ?? []
    return doubts.includes(`${row} ${rule} in-doubt`)
  }
  expect(receipts.map(({ transactionId }) => transactionId).sort()).toEqual(
    stored.filter((id) => !isDoubtful(id)).sort(),
  )
  for (const { transactionId } of [...receipts.slice(0, 1), ...receipts.slice(-1)]) {
    const traced = await world.waybill(['trace', transactionId, '--json'])
    expect(JSON.parse(traced.out)).toMatchObject({
      transactionId,
      export: { name: 'day.csv' },
      runs: [{ run, outcome: 'accepted' }],
    })
  }
}

async function expectReport(world: World, { run }: Shown): Promise<void> {
  const page = join(world.folder, 'report.html')
  expect((await world.waybill(['report', run, '--out', page])).code).toBe(0)
  expect(misnested(await readFile(page, 'utf8'))).toEqual([])
}

const Reject = z.looseObject({ _row: z.string(), _rule: z.string(), _code: z.string() })
type Reject = z.infer<typeof Reject>
/** It is in doubt itself, or waits for an older one that is (docs/reasons.md). */
const isInDoubt = ({ _code }: Reject): boolean => ['in-doubt', 'held', 'waits-for-older'].includes(_code)

/** Run as it is: all of it is read, what the gateway was at fault for is accepted, the rest is rejected for the same reason. */
async function expectRejectsRun(world: World, shown: Shown, chunkRows: number): Promise<void> {
  const rejects = shown.exports[0]?.rejects
  if (rejects === undefined) return
  const lines = await rejectLines(rejects)
  expect((await stat(rejects)).mode & 0o777).toBe(0o600)
  world.heal()
  const again = await world.waybill(['run', 'drawn', '--file', rejects, '--json'], { chunkRows })
  expect(again.err).not.toContain('error')
  const ended = RunOfRejects.parse(JSON.parse(again.out))
  expect(ended).toMatchObject({ balanced: true, state: 'finished', rows: { read: lines.length } })
  // What is in doubt stays so until a person or a look at the profile has settled it.
  const left = (await rejectLines(ended.exports[0]?.rejects)).filter((line) => !isInDoubt(line))
  const isOfGateway = ({ _code }: Reject): boolean => _code === 'refused' || _code === 'registration-refused'
  expect(left.map(placeOf)).toEqual(
    lines.filter((line) => !isOfGateway(line) && !isInDoubt(line)).map(placeOf),
  )
}

const RunOfRejects = z.looseObject({
  exports: z.array(z.looseObject({ rejects: z.string().optional() })),
})

const placeOf = ({ _row, _rule, _code }: Reject): string => `${_row} ${_rule} ${_code}`

/** None where there is no such file. */
async function rejectLines(file: string | undefined): Promise<Reject[]> {
  if (file === undefined) return []
  return z.array(Reject).parse(parse(await readFile(file), { columns: true }))
}

test('each number that is shown is the sum of the ledger’s tables', LAWS.timed, async () => {
  await fc.assert(
    fc.asyncProperty(drawnRun.drawn, drawnRun.drawn, drawnRun.chunkRows, async (first, second, chunkRows) => {
      const world = await openWorld()
      // The second night reads the first export again.
      for (const [name, drawn] of Object.entries({ 'one.csv': first, 'two.csv': second })) {
        await world.deliver(name, drawn)
        const { out } = await world.waybill(['run', 'drawn', '--json'], { chunkRows })
        await expectNumbers(world, out)
      }
    }),
    LAWS.check(3),
  )
})
