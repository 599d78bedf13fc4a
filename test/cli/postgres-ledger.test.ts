import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openTickets } from '../../src/ledger/postgres/tickets.ts'
import { NO_ACCOUNT_IDS } from '../../src/ledger/sealed-ids.ts'
import { ask, serve } from '../console/console-under-test.ts'
import { blocks, page } from '../docs/pages.ts'
import { asAdmin, emptySchema } from '../postgres/server.ts'
import { ANN, BEN, type Clinic, GOOD, HEADER, openClinic } from './clinic.ts'
import { ended } from './command-line.ts'
import { readReceipts, readRejects } from './run-outputs.ts'

const BAD = 'cara,2026-03-02,fast,5.3,72.5,kg,no pulse\n'
const LATER = 'ann,2026-03-02,63,5.1,70.5,kg,corrected\n'

/** Rejects of a run, with the export but without ids. */
async function rejectsOf(clinic: Clinic, run: string) {
  const folder = join(clinic.workplace.home, 'rejects', run)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.csv')) : []
  return Promise.all(names.map(async (name) => [name, await readRejects(join(folder, name))] as const))
}

/** Outcome of two nights, with everything that differs between two installations taken out. */
async function twoNights(clinic: Clinic) {
  const nights: unknown[] = []
  for (const [name, rows] of [
    ['a.csv', ANN + BEN + BAD],
    ['b.csv', LATER + BEN],
  ] as const) {
    await clinic.deliver(name, HEADER + rows)
    const { code, out, err } = await clinic.run()
    const summary: unknown = JSON.parse(out)
    const { run } = summary as { run: string }
    const plain = JSON.parse(
      JSON.stringify(summary)
        .replaceAll(run, 'RUN')
        .replaceAll(clinic.workplace.folder, 'FOLDER')
        .replaceAll(
          /"(since|startedAt|endedAt|arrivedAt|modifiedAt|seconds|rowsPerSecond|durationMs|workedMs)":("[^"]*"|[\d.]+)/g,
          '"$1":0',
        )
        .replaceAll(clinic.store.url, 'GATEWAY'),
    )
    nights.push({
      ...{ code, err: err.length > 0 ? 'some' : 'none', plain },
      rejects: await rejectsOf(clinic, run),
      receipts: (await readReceipts(join(clinic.workplace.home, 'receipts', `${run}.ndjson.gz`))).map(
        ({ transactionId: _, batchId: __, ...receipt }) => receipt.outcome,
      ),
    })
  }
  return { nights, stored: await clinic.stored() }
}

/** Ledger of a role with the rights of the docs, and none beyond. */
async function leastRights(): Promise<string> {
  const server = await emptySchema()
  await asAdmin(server, ...blocks(page('docs/ledger.md'), 'sql'))
  const { port } = new URL(server)
  return `postgres://waybill@127.0.0.1:${port}/postgres`
}

test('a run on PostgreSQL has the summary, receipts and rejects of a run on a file, and commands read it', async () => {
  const WAYBILL_LEDGER = await leastRights()
  const onFile = await openClinic()
  const onServer = await openClinic({ environment: { WAYBILL_LEDGER } })
  const [file, server] = [await twoNights(onFile), await twoNights(onServer)]
  expect(server).toEqual(file)
  expect(server.stored).toEqual(expect.arrayContaining(GOOD))
  // The rights are enough for the queue of workers.
  const tickets = await openTickets({ url: WAYBILL_LEDGER }, { supervises: true, cipher: NO_ACCOUNT_IDS })
  expect(await tickets.take('run')).toBeUndefined()
  await tickets.close()

  const { workplace } = onServer
  const { waybill } = workplace
  const { out: listed } = await waybill('runs', '--json')
  const [latest] = (JSON.parse(listed) as { runs: { run: string }[] }).runs
  const run = latest?.run ?? expect.fail('no run')
  expect((await waybill('show', 'latest', '--json')).out).toContain(run)
  expect(JSON.parse((await waybill('needs', '--json')).out)).toMatchObject({ needs: expect.anything() })
  const { records } = JSON.parse((await waybill('trace', '--row', 'a.csv:1', '--json')).out) as {
    records: { transactionId: string }[]
  }
  const transaction = records[0]?.transactionId ?? expect.fail('no record')
  expect((await waybill('trace', transaction)).out).toContain('Row          1, line 2')
  const doctor = await waybill('doctor')
  expect(doctor.out).toContain('postgres://127.0.0.1')
  expect(await waybill('backup', 'copy')).toMatchObject({ code: 2, err: expect.stringContaining('pg_dump') })

  const served = await serve(workplace, ['--read-only'])
  const entered = await ask(served.addresses[0] ?? expect.fail('no address'))
  const cookie = entered.headers['set-cookie']?.[0]?.split(';')[0] ?? expect.fail(entered.text)
  const shown = await ask(`${served.base}/runs/${run}`, { headers: { cookie } })
  expect(shown).toMatchObject({ status: 200, text: expect.stringContaining(run) })
  const system = await ask(`${served.base}/system`, { headers: { cookie } })
  expect(system.text).toContain('<dt>latest backup</dt><dd>by the tools of the server</dd>')
  await served.end()

  const inAYear = new Date(Date.now() + 366 * 86_400_000).toISOString()
  const pruned = await workplace.waybillAt(inAYear, 'prune', '--older-than', '30d')
  expect(pruned.out, pruned.err).toMatch(/^Removed the detail of \d runs/)
  expect(pruned.out).not.toContain('--dry-run')
  expect((await waybill('show', run, '--json')).out).toContain('pruned')
  // Nothing delivered is sent again.
  const before = await onServer.stored()
  await onServer.deliver('c.csv', HEADER + LATER + BEN)
  expect((await onServer.run()).out).toContain('"state":"finished"')
  expect(await onServer.stored()).toEqual(before)
})

test('an inbox that is empty because its exports are archived is no missing mount', async () => {
  const clinic = await openClinic({
    job: 'exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }\naccounts: { register: never }\n',
    environment: { WAYBILL_LEDGER: await emptySchema() },
  })
  await clinic.deliver('a.csv', HEADER + ANN)
  expect((await clinic.run()).code).toBe(0)
  expect((await clinic.workplace.waybill('doctor')).out).not.toContain('is empty')
})

test('commands about the file of a ledger say of a server what is true there', async () => {
  const clinic = await openClinic({ environment: { WAYBILL_LEDGER: await emptySchema() } })
  const { waybill, folder } = clinic.workplace
  await clinic.deliver('a.csv', HEADER + ANN)
  expect((await clinic.run()).code).toBe(0)
  // Nothing was lost: the ledger has moved before.
  const copied = await waybill('ledger', 'copy', '--to', 'postgres://waybill@127.0.0.1:1/other')
  expect(copied).toMatchObject({ code: 2, err: expect.stringContaining('works on a ledger in a file') })
  await writeFile(join(folder, 'ids.csv'), 'partnerAccountId\nann\n')
  const erased = await waybill('accounts', 'erase', '--file', 'ids.csv', '--job', 'clinic', '--yes')
  expect(erased.out).toContain('Log and backups of the database server may hold account ids')
  expect(erased.out).not.toContain('repeat this command')
})

test('a run by a worker has the summary, receipts and rejects of a run on a file', async () => {
  const onFile = await openClinic()
  const byWorker = await openClinic({
    environment: { WAYBILL_LEDGER: await emptySchema(), WAYBILL_RUN_BY: 'workers' },
  })
  const worker = byWorker.workplace.start('worker')
  const over = ended(worker)
  onTestFinished(async () => {
    worker.kill('SIGKILL')
    await over
  })
  expect(await twoNights(byWorker)).toEqual(await twoNights(onFile))
})

test('another key than that of the ledger, and no key, are refused before anything is sent', async () => {
  const WAYBILL_LEDGER = await emptySchema()
  const first = await openClinic({ environment: { WAYBILL_LEDGER, WAYBILL_KEY: 'of-the-ledger-0123456789' } })
  await first.deliver('a.csv', HEADER + ANN)
  expect((await first.run()).code).toBe(0)
  const before = await first.stored()
  for (const [environment, said] of [
    [{ WAYBILL_KEY: 'of-another-home-0123456789' }, 'key-differs'],
    [{}, 'settings-invalid'],
  ] as const) {
    const other = await openClinic({ store: first.store, environment: { WAYBILL_LEDGER, ...environment } })
    await other.deliver('b.csv', HEADER + BEN)
    expect(await other.run()).toMatchObject({ code: 2, err: expect.stringContaining(`error ${said}`) })
  }
  expect(await first.stored()).toEqual(before)
})

test('a ledger moves from the file to PostgreSQL, and nothing is sent twice', async () => {
  const clinic = await openClinic()
  const { workplace } = clinic
  await clinic.deliver('a.csv', HEADER + ANN + BEN + BAD)
  expect((await clinic.run()).code).toBe(1)
  const before = await clinic.stored()
  const to = await emptySchema()
  const refused = await workplace.waybill('ledger', 'copy', '--to', 'postgres://db.example/x?sslmode=disable')
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('without TLS') })
  // Whatever WAYBILL_LEDGER says by then: the file of the home is copied.
  workplace.environment['WAYBILL_LEDGER'] = to
  const copied = await workplace.waybill('ledger', 'copy', '--to', to)
  const [, rows, tables] =
    /^Ledger home\/ledger\.sqlite moved: (\d+) rows of (\d+) tables, equal/.exec(copied.out) ??
    expect.fail(copied.err)
  // A small ledger leaves most tables empty.
  expect(Number(rows)).toBeGreaterThan(4)
  expect(Number(rows)).toBeLessThan(Number(tables))
  expect(copied.out).toContain(`Set WAYBILL_LEDGER=${to}\n`)
  const again = await workplace.waybill('ledger', 'copy', '--to', to)
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining('has a ledger already') })
  delete workplace.environment['WAYBILL_LEDGER']
  expect(await clinic.run()).toMatchObject({ code: 2, err: expect.stringContaining('error ledger-moved') })
  expect((await workplace.waybill('doctor')).out).toContain('the ledger was moved to postgres://127.0.0.1')
  workplace.environment['WAYBILL_LEDGER'] = to
  await clinic.deliver('b.csv', HEADER + BEN + ANN)
  expect((await clinic.run()).out).toContain('"state":"finished"')
  expect(await clinic.stored()).toEqual(before)
  expect((await workplace.waybill('doctor')).code).toBe(0)
})

test('a database that is away ends a run before anything is sent, and no password is shown', async () => {
  const clinic = await openClinic({
    environment: {
      WAYBILL_LEDGER: 'postgres://waybill@127.0.0.1:1/ledger',
      WAYBILL_LEDGER_PASSWORD: 'geheim-0123',
    },
  })
  await clinic.deliver('a.csv', HEADER + ANN)
  const { code, out, err } = await clinic.run()
  expect({ code, err }).toMatchObject({
    code: 2,
    err: expect.stringContaining('error ledger-unusable'),
  })
  expect(err).toContain('postgres://127.0.0.1:1/ledger')
  expect(out + err).not.toContain('geheim')
  expect(await clinic.stored()).toEqual([])
})
