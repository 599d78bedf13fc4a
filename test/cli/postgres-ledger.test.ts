import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptySchema } from '../postgres/server.ts'
import { ANN, BEN, type Clinic, GOOD, HEADER, openClinic } from './clinic.ts'
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

test('a run on PostgreSQL has the summary, receipts and rejects of a run on a file', async () => {
  const onFile = await openClinic()
  const onServer = await openClinic({ environment: { WAYBILL_LEDGER: await emptySchema() } })
  const [file, server] = [await twoNights(onFile), await twoNights(onServer)]
  expect(server).toEqual(file)
  expect(server.stored).toEqual(expect.arrayContaining(GOOD))
  for (const command of [['runs'], ['show', 'latest'], ['needs'], ['prune', '--older-than', '30d']])
    expect((await onServer.workplace.waybill(...command)).err, command.join(' ')).not.toContain('error')
  const doctor = await onServer.workplace.waybill('doctor')
  expect(doctor.out).toContain('postgres://127.0.0.1')
  expect(await onServer.workplace.waybill('backup', 'copy')).toMatchObject({
    code: 2,
    err: expect.stringContaining('pg_dump'),
  })
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
