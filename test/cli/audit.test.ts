/** `waybill audit`: who did what, when and why; people of exports by hash alone; kept for as long as the setting says. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { between, type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { startReferenceStore } from './reference-store.ts'

const Listed = z.object({
  audit: z.array(
    z.strictObject({
      at: z.iso.datetime(),
      by: z.string(),
      action: z.string(),
      job: z.string().nullable(),
      run: z.string().nullable(),
      subject: z.string().nullable(),
      note: z.string().nullable(),
    }),
  ),
})

async function auditOf({ workplace }: Clinic, ...args: string[]) {
  const asked = await workplace.waybill('audit', '--json', ...args)
  expect(asked.code).toBe(0)
  return Listed.parse(JSON.parse(asked.out)).audit
}

const DAY_MS = 86_400_000

test('each decision on a job and its runs is listed with person and reason, oldest first', async () => {
  const clinic = await openClinic()
  const { waybill } = clinic.workplace
  expect((await waybill('audit')).out).toBe('Nobody has acted yet.\n')
  await clinic.deliver('day.csv', between('cid,2026-03-02,630,,,,\n'))
  await clinic.run()
  await waybill('pause', 'clinic', '--by', 'ann', '--note', 'the vendor is moving')
  await waybill('pause', 'clinic', '--by', 'ben')
  await waybill('unpause', 'clinic', '--by', 'ben', '--note', 'moved')
  await waybill('unpause', 'clinic', '--by', 'ben')
  await waybill('acknowledge', 'latest', '--by', 'cat', '--note', 'asked the vendor')
  await waybill('acknowledge', 'latest', '--undo', '--by', 'dan')
  const audit = await auditOf(clinic)
  // A command that changed nothing is no action.
  expect(audit.map(({ by, action, job, note }) => [by, action, job, note])).toEqual([
    ['ann', 'pause', 'clinic', 'the vendor is moving'],
    ['ben', 'unpause', 'clinic', 'moved'],
    ['cat', 'acknowledge', 'clinic', 'asked the vendor'],
    ['dan', 'undo-acknowledge', 'clinic', null],
  ])
  expect(audit[2]?.run).toMatch(/^\d{8}T\d{6}Z-/)
  expect(await auditOf(clinic, '--job', 'other')).toEqual([])
  expect(await auditOf(clinic, '--since', '2099-01-01')).toEqual([])
  expect(await auditOf(clinic, '--since', '1d')).toHaveLength(4)
  const { out } = await waybill('audit')
  expect(out).toMatch(/ann +pause +clinic +the vendor is moving/)
})

test('exported, confirmed, forgotten and erased people are listed by hash alone', async () => {
  const clinic = await openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\n`,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    store: await startReferenceStore(),
  })
  const { waybill, folder } = clinic.workplace
  const rows = ['person-ann', 'person-ben'].map((id) => `${id},2026-03-02,A,B,1980-02-03,FEMALE,04884,61\n`)
  await clinic.deliver('a.csv', `id,day,first,last,born,gender,zip,pulse\n${rows.join('')}`)
  expect(await clinic.run()).toMatchObject({ code: 0 })
  const file = join(folder, 'ids.csv')
  await writeFile(file, 'partnerAccountId\nperson-ann\nperson-ben\n')
  const people = ['--job', 'clinic', '--file', file, '--by', 'eva', '--note', 'request 17']
  await waybill('accounts', 'export', 'clinic', '--out', 'walk.csv', '--by', 'eva')
  const exported = /person-ann,(\S+)/.exec(readFileSync(join(folder, 'walk.csv'), 'utf8'))?.[1] ?? 'none'
  await waybill('accounts', 'confirm', ...people)
  await waybill('accounts', 'forget', ...people)
  await waybill('accounts', 'erase', ...people, '--dry-run')
  expect((await waybill('accounts', 'erase', ...people, '--yes')).code).toBe(0)
  const audit = await auditOf(clinic)
  expect(audit.map(({ by, action }) => `${by} ${action}`)).toEqual([
    'eva accounts-export',
    ...['confirm', 'forget', 'erase'].flatMap((what) => [`eva accounts-${what}`, `eva accounts-${what}`]),
  ])
  expect(audit[0]).toMatchObject({ job: 'clinic', subject: join(folder, 'walk.csv') })
  const hashes = audit.slice(1).map(({ subject }) => subject)
  expect(new Set(hashes).size).toBe(2)
  expect(audit.at(-1)).toMatchObject({
    note: 'request 17',
    subject: expect.stringMatching(/^[0-9a-f]{16,}$/),
  })
  const { out } = await waybill('audit')
  expect(`${out}${JSON.stringify(audit)}`).not.toContain('person-')
  expect(`${out}${JSON.stringify(audit)}`).not.toContain(exported)
  expect(out).toMatch(/eva +accounts-erase +2 people +request 17/)
})

test('pruning spares an action for as long as the setting says, whatever age is pruned', async () => {
  const clinic = await openClinic()
  const { waybill, environment, home } = clinic.workplace
  for (const by of ['ann', 'ben']) {
    await waybill('pause', 'clinic', '--by', by)
    await waybill('unpause', 'clinic', '--by', by)
  }
  const database = new DatabaseSync(join(home, 'ledger.sqlite'))
  const age = database.prepare('update audit set at = ? where person = ?')
  age.run(Date.now() - 5.9 * 365 * DAY_MS, 'ann')
  age.run(Date.now() - 6.1 * 366 * DAY_MS, 'ben')
  database.close()
  const people = async () => [...new Set((await auditOf(clinic)).map(({ by }) => by))]
  await waybill('prune', '--older-than', '1d', '--dry-run')
  expect(await people()).toEqual(['ben', 'ann'])
  expect((await waybill('prune', '--older-than', '1d')).out).toContain('audit 2')
  expect(await people()).toEqual(['ann'])
  environment['WAYBILL_AUDIT_KEEP'] = '30d'
  expect((await waybill('prune', '--older-than', '3000d')).code).toBe(0)
  expect(await people()).toEqual(['ann'])
  await waybill('prune', '--older-than', '1d')
  expect(await people()).toEqual([])
  environment['WAYBILL_AUDIT_KEEP'] = '0d'
  expect((await waybill('audit')).err).toContain('WAYBILL_AUDIT_KEEP')
})
