import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { NEEDS_NO_ROOT } from '../needed.ts'
import { ledgerSuites } from './suite/ledger-suites.ts'

const run = promisify(execFile)

ledgerSuites('an SQLite file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  const file = join(folder, 'ledger.sqlite')
  const ids = createAccountIdCipher(() => 'key')
  const first = await openLedger(file, 'here', undefined, ids)
  let ledger = first
  return {
    ledger: first,
    async reopen(place = 'here') {
      await ledger.close()
      ledger = await openLedger(file, place, undefined, ids)
      return ledger
    },
    async cleanup() {
      await ledger.close()
      await rm(folder, { recursive: true })
    },
  }
})

describe('the ledger file', () => {
  let folder: string
  let file: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
    file = join(folder, 'ledger.sqlite')
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is refused when a newer program wrote it, and stays as it was', async () => {
    await (await openLedger(file)).close()
    const database = new DatabaseSync(file)
    database.exec(`insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01')`)
    database.close()
    const before = await readFile(file)
    await expect(openLedger(file)).rejects.toMatchObject({ code: 'ledger-newer', place: { file } })
    await expect(openLedger(file)).rejects.toThrow('9999-later')
    expect(await readFile(file)).toEqual(before)
  })

  it('is unusable when it is a folder', async () => {
    await mkdir(file)
    await expect(openLedger(file)).rejects.toMatchObject({ code: 'ledger-unusable', place: { file } })
  })

  it('is unusable when its folder is not there', async () => {
    await expect(openLedger(join(folder, 'none', 'ledger.sqlite'))).rejects.toMatchObject({
      code: 'ledger-unusable',
    })
  })

  it('is unusable when it holds something else, which stays as it was', async () => {
    const text = 'this is no database, but it is long enough to be taken for one\n'.repeat(100)
    await writeFile(file, text)
    await expect(openLedger(file)).rejects.toMatchObject({ code: 'ledger-unusable' })
    expect(await readFile(file, 'utf8')).toBe(text)
  })

  it('is unusable when it may only be read', NEEDS_NO_ROOT, async () => {
    await (await openLedger(file)).close()
    await chmod(file, 0o400)
    await expect(openLedger(file)).rejects.toMatchObject({ code: 'ledger-unusable' })
  })

  it('waits for what is on the disk: write-ahead log, synchronised in full', async () => {
    const ledger = await openLedger(file)
    const database = new DatabaseSync(file)
    expect(database.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' })
    database.close()
    await ledger.close()
  })

  it('shows to one connection what another wrote', async () => {
    const [one, other] = [await openLedger(file), await openLedger(file)]
    const jobId = await one.jobs.id('job', 'gateway')
    expect(await other.jobs.id('job', 'gateway')).toBe(jobId)
    const request = { jobId, runId: 'run-1', owner: 'here:1', now: 0, ttlMs: 10 }
    expect((await one.leases.acquire(request, () => false)).ok).toBe(true)
    expect((await other.leases.acquire({ ...request, owner: 'here:2' }, () => false)).ok).toBe(false)
    await one.close()
    await other.close()
  })

  it('is made once and gives no token twice where processes use it at the same time', async () => {
    const program = new URL('ledger-process.ts', import.meta.url).pathname
    const outputs = await Promise.all([1, 2, 3].map(() => run(process.execPath, [program, file, '40'])))
    const tokens = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as number[])
    expect(tokens.sort((a, b) => a - b)).toEqual(Array.from({ length: 120 }, (_, at) => at + 1))
  })
})
