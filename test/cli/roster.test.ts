/** A roster: a mapping that registers people, and nothing else. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { type Clinic, openClinic } from './clinic.ts'
import { startReferenceStore } from './reference-store.ts'

const ROSTER = `mapping: clinic
read: { format: csv }
row:
  key: [id]
  account:
    reference: id
    sponsor: plan
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: born, format: yyyy-MM-dd }
      gender: { from: gender }
      postalCode: zip
`
const HEAD = 'id,plan,first,last,born,gender,zip\n'
const person = (id: string, born = '1980-02-03'): string => `${id},acme,A,B,${born},FEMALE,04884\n`

const openRoster = async (mapping = ROSTER, job = ''): Promise<Clinic> =>
  openClinic({
    mapping,
    job: `exports: { from: ../inbox, match: "*.csv", mapping: clinic }\n${job}`,
    store: await startReferenceStore(),
  })

it('registers its people once, whoever stands on two rows, and counts whom the gateway knows', async () => {
  const clinic = await openRoster()
  await clinic.deliver(
    'r1.csv',
    `${HEAD}${person('ann')}${person('ben')}${person('ann')}${person('cat', 'x')}`,
  )
  const first = await clinic.run()
  const summary = JSON.parse(first.out)
  expect(first.code).toBe(1)
  expect(summary).toMatchObject({
    balanced: true,
    rows: { read: 4, mapped: 4 },
    records: { account: { made: 4, accepted: 2, unchanged: 1, rejected: 1 }, biometric: { made: 0 } },
    accounts: { registered: 2, refused: 1 },
  })
  const receipts = gunzipSync(readFileSync(summary.files.receipts)).toString().trim().split('\n')
  expect(receipts.map((line) => JSON.parse(line))).toEqual(
    Array.from({ length: 2 }, () => ({
      ...{ transactionId: expect.stringMatching(/-account-/), outcome: 'accepted', batchId: null },
      ...{ status: null, gatewayId: expect.any(String) },
    })),
  )

  const [{ transactionId }] = receipts.map((line) => JSON.parse(line))
  const traced = await clinic.workplace.waybill('trace', transactionId, '--json')
  expect(JSON.parse(traced.out)).toMatchObject({
    ...{ transactionId, rule: 'account', row: 1, origin: { line: 2 } },
    runs: [{ run: summary.run, outcome: 'accepted', batches: [] }],
  })
  const ofAnn = await clinic.workplace.waybill('trace', '--person', 'ann', '--json')
  expect(JSON.parse(ofAnn.out).rows).toMatchObject([
    { row: 1, records: [{ transactionId, outcome: 'accepted' }] },
  ])

  const dry = await clinic.workplace.waybill('run', 'clinic', '--dry-run')
  expect(dry.out).toContain('made 4: 1 to send, 3 delivered before, 0 rejected')

  // Mended, and delivered with a new person: whom the crosswalk has is unchanged.
  await clinic.deliver('r1.csv', `${HEAD}${person('ann')}${person('cat')}${person('dan')}`)
  const second = await clinic.run()
  expect(second.code).toBe(0)
  expect(JSON.parse(second.out)).toMatchObject({
    records: { account: { made: 3, accepted: 2, unchanged: 1 } },
    requests: { sent: 2 },
  })
  expect((await clinic.workplace.waybill('show', 'latest')).out).toContain('accounts')
})

it('registers nobody where the job says so, and says who is not registered', async () => {
  const clinic = await openRoster(ROSTER, 'accounts: { register: never }\n')
  await clinic.deliver('r1.csv', `${HEAD}${person('ann')}`)
  const { code, out } = await clinic.run()
  expect([code, JSON.parse(out).records.account.rejected]).toEqual([1, 1])
  expect((await clinic.workplace.waybill('show', 'latest')).out).toContain('account-unknown')
})

it('gives the partner ids of its people back with their account ids, each once', async () => {
  const clinic = await openRoster()
  const file = await clinic.deliver(
    'r1.csv',
    HEAD + person('ann') + person('"b,en"') + person('ann') + person('cat', 'x'),
  )
  const { files } = JSON.parse((await clinic.run()).out)
  const { workplace } = clinic
  const told = JSON.parse(
    (await workplace.waybill('accounts', 'export', 'clinic', '--out', 'c.csv', '--json')).out,
  )
  expect(told).toMatchObject({ job: 'clinic', written: 2, unknown: 1 })
  const [head, ...lines] = readFileSync(join(workplace.folder, 'c.csv'), 'utf8').trimEnd().split('\n')
  expect(head).toBe('partnerAccountId,accountId')
  // The gateway's own word for each: what it answered stands in the receipts.
  const receipts = gunzipSync(readFileSync(files.receipts)).toString().trim().split('\n')
  const ids = receipts.map((line) => JSON.parse(line).gatewayId)
  expect(lines).toEqual([`ann,${ids[0]}`, `"b,en",${ids[1]}`])
  expect(statSync(join(workplace.folder, 'c.csv')).mode & 0o777).toBe(0o600)

  const again = await workplace.waybill('accounts', 'export', 'clinic', '--out', 'c.csv')
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('c.csv is there already')])
  const named = await workplace.waybill('accounts', 'export', 'clinic', '--out', 'd.csv', '--file', file)
  expect(named.out).toContain('d.csv: 2 people with their account ids at http')
  expect(named.out).toContain('1 more has no account id in this ledger')
})
