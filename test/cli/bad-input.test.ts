import { utimesSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { n } from '../../src/system/shown-text.ts'
import { ANN, BEN, CLINIC, expectUntouched, GOOD, HEADER, JOB, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

describe('an export that cannot be read', () => {
  const unusable = [
    { what: 'empty', content: '', code: 'export-empty' },
    { what: 'a header and no rows', content: HEADER, code: 'export-empty' },
    {
      what: 'without a column that the mapping reads',
      content: `${HEADER}${ANN}`.replace('pulse', 'puls'),
      code: 'columns-missing',
    },
    {
      what: 'with a column twice',
      content: `${HEADER}${ANN}`.replace('remark', 'pulse'),
      code: 'export-unreadable',
    },
  ]
  test.each(unusable)(
    '$what: exit 2; with a good one beside it, exit 1, and the good one goes through',
    async ({ content, code }) => {
      const clinic = await openClinic()
      await clinic.deliver('bad.csv', content)
      const alone = await clinic.run()
      expect(alone.code).toBe(2)
      expect(summaryOf(alone)).toMatchObject({
        balanced: true,
        exports: [{ name: 'bad.csv', rows: 0, error: code }],
      })
      expect(alone.err).toContain('bad.csv')
      expect(await clinic.stored()).toEqual([])

      await clinic.deliver('good.csv', `${HEADER}${ANN}${BEN}`)
      const beside = await clinic.run()
      expect(beside.code).toBe(1)
      expect(summaryOf(beside)).toMatchObject({
        balanced: true,
        exports: [
          { name: 'bad.csv', error: code },
          { name: 'good.csv', rows: 2 },
        ],
      })
      expect(await clinic.stored()).toEqual(GOOD)

      const { out } = await clinic.workplace.waybill('show')
      expect(out).toContain(`Nothing of bad.csv was sent (${code}): `)
      expect(out).toContain('\n    waybill run clinic\n')
    },
  )

  test('of one that changes once some of it is delivered, it is told how much that is', async () => {
    const clinic = await openClinic()
    const rows = Array.from({ length: 1_000 }, (_, at) => `p${at},2026-03-02,61,5.1,70.5,kg,\n`)
    const path = await clinic.deliver('bad.csv', `${HEADER}${rows.join('')}`)
    const { code } = await clinic.workplace.waybillWith(
      (context) => ({
        ...context,
        connectGateway: (name, onRequest) =>
          context.connectGateway(name, (event) => {
            utimesSync(path, 1, 1)
            onRequest?.(event)
          }),
      }),
      'run',
      'clinic',
    )
    expect(code).toBe(2)
    const { out } = await clinic.workplace.waybill('show')
    const accepted = (await clinic.stored()).length
    expect(accepted).toBeGreaterThan(2_000)
    expect(out).toContain(`bad.csv failed with ${n(accepted)} records accepted (export-changed): `)
    expect(out).not.toContain('Nothing of bad.csv was sent')
  })

  test('a dry run looks at the good one all the same, and names the bad one', async () => {
    const clinic = await openClinic()
    await clinic.deliver('bad.csv', `${HEADER}${ANN}`.replace('pulse', 'puls'))
    const alone = await clinic.run('--dry-run')
    expect({ code: alone.code, failed: JSON.parse(alone.out).failed }).toMatchObject({
      code: 2,
      failed: [{ name: 'bad.csv', error: { code: 'columns-missing' } }],
    })
    await clinic.deliver('good.csv', `${HEADER}${ANN}${BEN}`)
    const beside = await clinic.workplace.waybill('run', 'clinic', '--dry-run')
    expect(beside.code).toBe(1)
    expect(beside.out).toMatch(/good.csv: 2 rows.*bad.csv: would not be sent.*error columns-missing.*pulse/s)
    expect(await clinic.store.allRecords()).toEqual([])
  })

  test('a dry run fails an export without rows as a run does', async () => {
    const clinic = await openClinic()
    const path = await clinic.deliver('empty.csv', HEADER)
    const failed = (out: string) => JSON.parse(out).failed.map((one: { error: object }) => one.error)
    const empty = await clinic.run('--dry-run')
    expect(empty.code).toBe(2)
    expect(failed(empty.out)).toMatchObject([{ code: 'export-empty', place: { file: path } }])
    expect(summaryOf(await clinic.run()).exports).toMatchObject([{ error: 'export-empty' }])
  })

  test('a folder where the export should be, and a file that is not there: exit 2', async () => {
    const clinic = await openClinic()
    await mkdir(join(clinic.workplace.folder, 'inbox/folder.csv'))
    for (const name of ['folder.csv', 'missing.csv']) {
      const ended = await clinic.run('--file', `inbox/${name}`)
      expect(ended.code).toBe(2)
      expect(summaryOf(ended).exports).toMatchObject([{ name, rows: 0, error: 'export-unreadable' }])
      expect(ended.err).toContain(name)
    }
    expect(await clinic.store.allRecords()).toEqual([])
  })

  test('a folder that is not there, and one without exports: exit 2, nothing begun', async () => {
    const clinic = await openClinic()
    const none = await clinic.run()
    expect(none.code).toBe(2)
    expect(none.err).toContain('error exports-none')
    expect(none.err).toContain(join('inbox', '*.csv'))
    await rm(join(clinic.workplace.folder, 'inbox'), { recursive: true })
    const gone = await clinic.run()
    expect(gone.code).toBe(2)
    expect(gone.err).toContain('error export-unreadable')
    expect(gone.err).toContain(`the exports folder ${join(clinic.workplace.folder, 'inbox')} is missing`)
    expect(gone.err).toContain('What to do: Correct `from` in the job, or make the folder')
    await expectUntouched(clinic)
  })
})

describe('a definition that is wrong is refused before anything is read or sent', () => {
  test('mapping: all that is wrong with it, with its lines', async () => {
    const mapping = CLINIC.replace('biometrics:', 'skipRows: 3\nbiometrics:')
      .replace('heart-rate:', 'hart-rate:')
      .replace('hba1c: "a1c"', 'hba1c: { from: a1c, unit: kg }')
      .replace('America/New_York', 'America/New_Yrok')
    const clinic = await openClinic({ mapping })
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const { code, err } = await clinic.run()
    expect(code).toBe(2)
    expect(err).toContain('error mapping-invalid')
    for (const found of ['clinic.yaml:6:', 'row.observedAt.zone', 'clinic.yaml:8:', 'skipRows'])
      expect(err).toContain(found)
    await expectUntouched(clinic)
  })

  test('job: an unknown key, a wrong size and a wrong duration, all at once, with their lines', async () => {
    const clinic = await openClinic({
      job: `${JOB}submit: { patience: soon, batch: { bytes: 12 } }\nretries: 3\n`,
    })
    await clinic.deliver('day.csv', `${HEADER}${ANN}`)
    const { code, err } = await clinic.run()
    expect(code).toBe(2)
    expect(err).toContain('error job-invalid')
    for (const found of [
      'clinic.yaml:6:',
      'submit.patience',
      'submit.batch.bytes',
      'clinic.yaml:7:',
      'retries',
    ])
      expect(err).toContain(found)
    await expectUntouched(clinic)
  })

  test('a job that is not there: the jobs that are', async () => {
    const clinic = await openClinic()
    const { code, err } = await clinic.workplace.waybill('run', 'clinik')
    expect(code).toBe(2)
    expect(err).toContain('error job-not-found')
    expect(err).toMatch(/there is no job "clinik".* has: clinic/)
  })

  test('a jobs folder that is gone: the folder is at fault, not the name', async () => {
    const clinic = await openClinic()
    await rename(join(clinic.workplace.folder, 'jobs'), join(clinic.workplace.folder, 'jobs.away'))
    const { code, err } = await clinic.run()
    expect(code).toBe(2)
    expect(err).toMatch(/error job-not-found: there is no job "clinic": the folder \S*jobs cannot be read/)
    expect(err).toContain('Check WAYBILL_JOBS')
  })

  test('an unknown option', async () => {
    const clinic = await openClinic()
    const { code, err } = await clinic.run('--retry')
    expect(code).toBe(2)
    expect(err).toContain("unknown option '--retry'")
    expect(err).toContain('What to do: See the form of the command and an example with --help.')
  })

  test('settings: all problems at once, and no secret among them', async () => {
    const clinic = await openClinic({
      environment: {
        WAYBILL_GATEWAY_URL: 'http://gateway.example',
        WAYBILL_API_KEY: '',
        WAYBILL_KEY: 'short-secret',
        WAYBILL_LOG_LEVEL: 'loud',
        WAYBILL_HOEM: 'elsewhere',
        WAYBILL_ACCESS_TOKEN_FILE: 'missing/token',
      },
    })
    const { code, out, err } = await clinic.run()
    expect(code).toBe(2)
    expect(err).toContain('error settings-invalid')
    for (const name of ['GATEWAY_URL', 'API_KEY', 'KEY', 'LOG_LEVEL', 'HOEM', 'ACCESS_TOKEN_FILE'])
      expect(err).toContain(`  WAYBILL_${name}: `)
    expect(out + err).not.toContain('short-secret')
    expect(await clinic.store.allRecords()).toEqual([])
  })
})
