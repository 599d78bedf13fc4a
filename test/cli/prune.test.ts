import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, between, GOOD, HEADER, openClinic } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'
import { openFaultyClinic, runInDoubt } from './left-behind.ts'
import { readReceipts } from './run-outputs.ts'

const NOW = ['prune', '--older-than', '0s'] as const

test('detail and files go, balance and what was delivered stay', async () => {
  const clinic = await openClinic()
  const { workplace, store } = clinic
  await clinic.deliver('day.csv', between('cid,2026-03-02,630,,,,\n'))
  const summary = summaryOf(await clinic.run())
  const [receipt] = await readReceipts(summary.files.receipts ?? '')
  const transaction = receipt?.transactionId ?? ''
  expect((await workplace.waybill('trace', transaction)).code).toBe(0)

  const dry = JSON.parse((await workplace.waybill(...NOW, '--dry-run', '--json')).out)
  expect(dry).toMatchObject({ dryRun: true, runs: [summary.run], kept: [], files: { files: 2 } })
  expect(dry.detail).toMatchObject({ chunks: 1, batches: 1, exceptions: 1, mappings: 1 })
  expect((await workplace.waybill('trace', transaction)).code).toBe(0)
  const { size } = await stat(summary.files.receipts ?? '')
  expect(dry.files.bytes).toBeGreaterThan(size)

  const ran = await workplace.waybill(...NOW, '--json')
  const { ledger, ...pruned } = JSON.parse(ran.out)
  expect({ ...pruned, before: 0 }).toEqual({ ...dry, dryRun: false, before: 0 })
  expect(ledger.empty).toBe(0)
  expect(await readdir(join(workplace.home, 'receipts'))).toEqual([])
  expect(await readdir(join(workplace.home, 'rejects'))).toEqual([])

  const shown = JSON.parse((await workplace.waybill('show', '--json')).out)
  expect(shown).toMatchObject({ rows: summary.rows, records: summary.records, balanced: true, reasons: [] })
  expect(shown).toMatchObject({ files: {}, pruned: expect.stringMatching(/^\d{4}-/) })
  const text = (await workplace.waybill('show')).out
  expect(text).toContain('Detail pruned on ')
  expect(text).not.toContain('Next')
  const [traced, rerun, reconciled] = [
    await workplace.waybill('trace', transaction),
    await workplace.waybill('rerun', summary.run),
    await workplace.waybill('reconcile', summary.run),
  ]
  expect(traced.err).toMatch(
    /error run-pruned: the export day\.csv was read by run \S+, whose detail was pruned on /,
  )
  for (const { code, err } of [traced, rerun, reconciled]) {
    expect(code).toBe(2)
    expect(err).toContain('error run-pruned')
  }

  await clinic.deliver('again.csv', between('cid,2026-03-02,63,,,,\n'))
  const again = summaryOf(await clinic.run())
  expect(again.records.biometric).toMatchObject({ made: 14, accepted: 1, unchanged: 12, rejected: 1 })
  expect(await store.allRecords()).toHaveLength(7)

  expect(JSON.parse((await workplace.waybill('prune', '--older-than', '1d', '--json')).out)).toMatchObject({
    runs: [],
    resumed: [],
    files: { files: 0 },
  })
})

test('an old export that is delivered again sends nothing', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  await clinic.run()
  expect((await clinic.workplace.waybill(...NOW)).code).toBe(0)
  const { requests, records } = summaryOf(await clinic.run())
  expect(requests).toMatchObject({ sent: 0, readBack: 0 })
  expect(records.biometric).toMatchObject({ made: 6, unchanged: 6 })
  expect(await clinic.stored()).toEqual(GOOD)
})

test('interrupted, it says what it came to, that it is to be typed again, and ends with 130', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const { run } = summaryOf(await clinic.run())
  const { code, out, err } = await clinic.workplace.waybillWith(
    (context) => ({ ...context, interrupt: AbortSignal.abort() }),
    ...NOW,
  )
  expect({ code, err }).toEqual({ code: 130, err: expect.stringContaining('error interrupted') })
  expect(out).toContain('Removed the detail of 0 runs')
  expect(err).toContain('the pruning continues where it stopped')
  expect(JSON.parse((await clinic.workplace.waybill(...NOW, '--json')).out)).toMatchObject({ runs: [run] })
})

test('records in doubt keep their run, until that is decided', async () => {
  const clinic = await openFaultyClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const { run } = await runInDoubt(clinic, 'pass-then-reset')
  const kept = await clinic.workplace.waybill(...NOW)
  expect(kept.out).toContain('Removed the detail of 0 runs')
  expect(kept.out).toContain(`  ${run}  has records in doubt; to look them up: waybill reconcile ${run}`)
  expect((await clinic.workplace.waybill('reconcile', run)).code).toBe(0)
  const before = JSON.parse((await clinic.workplace.waybill('show', run, '--json')).out)
  expect(JSON.parse((await clinic.workplace.waybill(...NOW, '--json')).out)).toMatchObject({ runs: [run] })
  const after = JSON.parse((await clinic.workplace.waybill('show', run, '--json')).out)
  expect(after.records).toEqual(before.records)
  expect(after.records.biometric).toMatchObject({ accepted: 3, inDoubt: 0 })
})

test('while a run of the job is under way its earlier runs keep their detail; it is told, and the run is not disturbed', async () => {
  const clinic = await openFaultyClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}`)
  const first = summaryOf(await clinic.run())
  await clinic.deliver('day-2.csv', `${HEADER}${BEN}`)
  const asked = Promise.withResolvers<void>()
  let striking = true
  clinic.strike(({ method }) => {
    if (method !== 'POST' || !striking) return PASS
    striking = false
    asked.resolve()
    return { do: 'pass-then-hang' }
  })
  const child = clinic.workplace.start('run', 'clinic', '--json')
  const running = ended(child)
  await asked.promise
  const { kept, runs } = JSON.parse((await clinic.workplace.waybill(...NOW, '--json')).out)
  expect(runs).toEqual([])
  expect(kept).toContainEqual(expect.objectContaining({ run: first.run, because: 'held' }))
  expect(existsSync(first.files.receipts ?? '')).toBe(true)
  child.kill('SIGKILL')
  await running
  expect(summaryOf(await clinic.run())).toMatchObject({ balanced: true })
  expect(await clinic.stored()).toEqual(GOOD)
})

test('a ledger from before pages could be given back is written anew once', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const file = join(clinic.workplace.home, 'ledger.sqlite')
  const old = new DatabaseSync(file)
  old.exec('pragma journal_mode = delete; pragma auto_vacuum = none; vacuum')
  expect(old.prepare('pragma auto_vacuum').get()).toEqual({ auto_vacuum: 0 })
  old.close()
  const { ledger } = JSON.parse((await clinic.workplace.waybill(...NOW, '--json')).out)
  expect(ledger.empty).toBe(0)
  const now = new DatabaseSync(file, { readOnly: true })
  expect(now.prepare('pragma auto_vacuum').get()).toEqual({ auto_vacuum: 2 })
  now.close()
})

test('an age that is none is refused with an example', async () => {
  const { workplace } = await openClinic()
  const { code, err } = await workplace.waybill('prune', '--older-than', 'long')
  expect(code).toBe(2)
  expect(err).toContain('like 180d')
  expect((await workplace.waybill('prune')).code).toBe(2)
})
