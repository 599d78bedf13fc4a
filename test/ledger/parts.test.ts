/** Parts of an export in the ledger: their rows, receipts and counts, and how they become those of the run. */
import { expect, test } from 'vitest'
import { noTallies, type Tallies } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from './begun-run.ts'

const FAULT = { reason: 'export-unreadable', detail: 'cut', remedy: null }

async function twoParts() {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run)
  await run.openParts(exportRow, 2)
  const lease = (number: number) => ({ ...run.lease, part: { exportRow, number, of: 2 } })
  const partOf = (number: number, tallies: Tallies = noTallies()) =>
    ledger.runs.ofPart(lease(number), tallies)
  const settle = async (
    number: number,
    chunk: number,
    read: number,
    receiptsLength: number,
    tallies = {},
  ) => {
    const part = partOf(number)
    await openChunk(part, exportRow, chunk)
    const rows = { ...noCounts().rows, read, rejected: 1, skipped: 2 }
    const counts = JSON.stringify({ ...noCounts(), rows })
    await settleChunk(part, exportRow, chunk, { counts, receiptsLength, tallies })
  }
  return { ledger, run, exportRow, partOf, settle, parts: () => ledger.parts.ofExport(exportRow) }
}

test('each part counts its rows over all of its chunks, and keeps the length of its receipts', async () => {
  const { ledger, settle, parts } = await twoParts()
  await settle(0, 1, 10, 100)
  await settle(1, 2, 20, 200)
  await settle(1, 4, 5, 250)
  expect((await parts()).map(({ number, rows, receiptsLength }) => [number, rows, receiptsLength])).toEqual([
    [0, { read: 10, rejected: 1, skipped: 2 }, 100],
    [1, { read: 25, rejected: 2, skipped: 4 }, 250],
  ])
  // The receipts of the run come with the join.
  expect(await ledger.runs.find('run-1')).toMatchObject({ receipts_length: 0 })
})

test('parts stopped are opened again, and no other; the end of a part is its own', async () => {
  const { run, exportRow, partOf, parts } = await twoParts()
  const states = async () => (await parts()).map(({ state, fault }) => `${state} ${fault}`)
  await partOf(1).endPart('stopped', '{}')
  expect(await states()).toEqual(['open null', 'stopped {}'])
  await partOf(0).endPart('failed', '{"code":1}')
  await run.openParts(exportRow, 2)
  expect(await states()).toEqual(['failed {"code":1}', 'open null'])
})

const talliesOf = (sent: number, owed: number): Tallies => {
  const tallies = noTallies()
  tallies.requests.sent = sent
  tallies.primaryCare.owed = owed
  tallies.careTeams.owed = owed
  return tallies
}

test.each([
  ['finished', undefined],
  ['failed', FAULT],
] as const)(
  'joined, an export is %s, and the run has the counts of all parts, but not twice who is owed',
  async (state, fault) => {
    const { ledger, run, exportRow, partOf, parts } = await twoParts()
    for (const number of [0, 1]) {
      const part = partOf(number, talliesOf(0, 0))
      Object.assign(part.tallies, talliesOf(3 + number, 5))
      await openChunk(part, exportRow, number + 1)
      await settleChunk(part, exportRow, number + 1, { counts: JSON.stringify(noCounts()), tallies: {} })
    }
    run.tallies.requests.sent = 1
    await run.renew(1, 1_000)
    await run.joinParts(exportRow, 77, state, fault)
    expect(await parts()).toEqual([])
    expect(await ledger.exports.find(exportRow)).toMatchObject({ state, reason: fault?.reason ?? null })
    const { receipts_length, tallies } = (await ledger.runs.find('run-1')) ?? expect.fail('no run')
    expect(receipts_length).toBe(77)
    expect(JSON.parse(tallies)).toMatchObject({
      requests: { sent: 8 },
      careTeams: { owed: 0 },
      primaryCare: { owed: 0 },
    })
    // What the run saves next has them, too.
    run.tallies.requests.sent++
    await run.assertHeld()
    const { tallies: saved } = (await ledger.runs.find('run-1')) ?? expect.fail('no run')
    expect(JSON.parse(saved)).toMatchObject({ requests: { sent: 9 } })
  },
)
